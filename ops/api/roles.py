"""Who may do what: every endpoint with the roles that may call it.

An app does not start with an endpoint that has no row here, and docs/api.md is drawn from this table.

Not here: what a role sees of a round (`sight`), how a caller proves to have a role (`ops.api_keys`).
"""

from __future__ import annotations

from typing import Final

from domain.access import Role

GAME_SERVER: Final = frozenset({Role.GAME_SERVER})
CASHIER: Final = frozenset({Role.CASHIER})
BACK_OFFICE: Final = frozenset({Role.BACK_OFFICE})
CUSTODIAN: Final = frozenset({Role.KEY_CUSTODIAN})
CONTROL: Final = frozenset({Role.DISPUTE_OFFICER, Role.REGULATOR})
READERS: Final = frozenset(Role) - CUSTODIAN

ANYBODY: Final = frozenset({
    "log.checkpoint", "log.cosign", "log.cosigned", "log.tile", "meta.health", "meta.openapi",
})  # fmt: skip
"""Endpoints that need no key."""

ROLES: Final[dict[str, frozenset[Role]]] = {
    "accounts.open_account": CASHIER,
    "accounts.read_account": READERS,
    "accounts.deposit": CASHIER,
    "accounts.withdraw": CASHIER,
    "accounts.adjust": BACK_OFFICE,
    "accounts.reverse": BACK_OFFICE,
    "accounts.statement": READERS,
    "accounts.cash_history": READERS,
    "accounts.game_history": READERS,
    "jackpots.open_jackpot": BACK_OFFICE,
    "jackpots.list_jackpots": READERS,
    "jackpots.read_jackpot": READERS,
    "rulesets.list_rulesets": READERS,
    "rulesets.read_ruleset": READERS,
    "rulesets.propose": BACK_OFFICE,
    "rulesets.approve": BACK_OFFICE,
    "tables.open_table": BACK_OFFICE,
    "tables.list_tables": READERS,
    "tables.read_table": READERS,
    "tables.change_table": BACK_OFFICE,
    "tables.close_table": BACK_OFFICE,
    "rounds.open_round": GAME_SERVER,
    "rounds.place_boxes": GAME_SERVER,
    "rounds.deal": GAME_SERVER,
    "rounds.decide": GAME_SERVER,
    "rounds.void": GAME_SERVER | BACK_OFFICE,
    "rounds.finish": GAME_SERVER | BACK_OFFICE,
    "rounds.read_one": GAME_SERVER | BACK_OFFICE | CONTROL,
    "rounds.list_rounds": GAME_SERVER | BACK_OFFICE | CONTROL,
    "evidence.read_events": CONTROL,
    "evidence.read_seed": CONTROL | GAME_SERVER,
    "evidence.read_deck": CONTROL,
    "evidence.read_record": CONTROL,
    "evidence.read_verdict": CONTROL | BACK_OFFICE,
    "keys.create_key": CUSTODIAN,
    "keys.list_all_keys": CUSTODIAN,
    "keys.revoke_key": CUSTODIAN,
    "keys.rotate_data_key": CUSTODIAN,
}
