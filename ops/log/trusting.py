"""Read the trust file: whose checkpoints, cosignatures and receipts are believed here.  Format: docs/formats/trust.md.

Not here: what a trust holds (`domain.log.trust`), where the file is (`ops.settings`).
"""

from __future__ import annotations

from pathlib import Path

from domain.log.trust import Trust, TrustError


def read_trust(path: Path) -> Trust:
    """The trust that a file holds.  Raises TrustError that names the file and the reason."""
    try:
        return Trust.from_json(path.read_bytes())
    except FileNotFoundError:
        raise TrustError(f"trust file {path}: is missing; --trust names one, with the keys that you believe") from None
    except OSError as error:
        raise TrustError(f"trust file {path}: {error.strerror or type(error).__name__}") from None
    except TrustError as error:
        raise TrustError(f"trust file {path}: {error}") from None
