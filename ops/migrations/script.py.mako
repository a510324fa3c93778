"""${message}.

What holds after this script:
"""

from __future__ import annotations

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = ${repr(branch_labels)}
depends_on = ${repr(depends_on)}


def upgrade() -> None:
    """Only forward: a journal is never taken back."""
    ${upgrades if upgrades else "raise NotImplementedError"}
