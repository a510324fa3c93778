"""Make the tampered copies of golden rounds: one file a kind, once; existing files are never overwritten.

    python -m tests.golden.make_tampered

Not here: what is changed and how it must be found (`tampering`).
"""

from __future__ import annotations

import json
import sys

from tests.golden.files import TAMPERED, to_json
from tests.golden.tampering import FORGERIES, Forgery, tampered


def main() -> int:
    """Write the missing files; the exit status is 1 if nothing was missing."""
    missing = [forgery for forgery in FORGERIES if not (TAMPERED / f"{forgery.name}.json").exists()]
    for forgery in missing:
        (TAMPERED / f"{forgery.name}.json").write_text(_text(forgery), encoding="utf-8")
    print(f"make_tampered: {len(missing)} of {len(FORGERIES)} files written; a file is never overwritten")
    return 0 if missing else 1


def _text(forgery: Forgery) -> str:
    forged = tampered(forgery)
    value = {
        "what": forgery.what,
        "based_on": {"ruleset": forgery.ruleset, "stream": forged.based_on},
        "expected": forged.expected,
        **to_json(forged.stream, forged.bodies),
    }
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main())
