"""What schemathesis must be told of our document, and one check of our own; loaded into its process by test_openapi.

Not here: which checks are run and how long (`test_openapi`).
"""

from __future__ import annotations

import unicodedata
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis import Case, CheckContext, GenerationMode, Response

from ops.api.fields import RECORD_TEXT

# Letters of several scripts; JSON Schema has no words for "composed, not blank, no control or formatting characters".
schemathesis.openapi.format(
    RECORD_TEXT,
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zs", "Zl", "Zp"]), min_size=1, max_size=60).map(
        lambda text: unicodedata.normalize("NFC", text)
    ),
)

MALFORMED = ("invalid-field", "body-not-json", "content-type-not-json", "idempotency-key-malformed")


@schemathesis.check
def what_the_document_allows_is_not_malformed(ctx: CheckContext, response: Response, case: Case[Any]) -> None:
    """A rule of the house may refuse a request that the document allows; a field may not."""
    meta = case.meta
    if meta is None or meta.generation.mode is not GenerationMode.POSITIVE or response.status_code < 400:
        return
    code = response.json().get("code")
    assert code not in MALFORMED, f"allowed by the document, refused as {code}: {response.json()['detail']}"
