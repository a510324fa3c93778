"""`dealproof rulesets`: the released rulesets, one of them in words, and what two of them do differently.

A parameter is told as facts: a subject ("two pair pays") and the words for its value ("1 to 1").  Showing joins the
two; a difference is the same subject with other words.

Not here: what a document may say (`domain.ruleset`); the rule pages, which say it at length (docs/rules).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final, NamedTuple

import click
import msgspec

from domain.ruleset import Limits, Parameter, Parameters, Ruleset, RulesetError, Share, load_ruleset
from domain.rulesets import released_rulesets
from ops.cli.output import UsageError, data_console, printable, reader_may_leave, write_json_line

LARGEST_DOCUMENT: Final = 1 << 20
"""Bytes of a ruleset document; a real one has a few thousand."""


@click.group(invoke_without_command=True)
@click.pass_context
def rulesets(context: click.Context) -> None:
    """List the released rulesets; show one in words; compare two."""
    if context.invoked_subcommand is None:
        with reader_may_leave():
            _print_list()


@rulesets.command()
@click.argument("ruleset_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show(ruleset_id: str, as_json: bool) -> None:
    """Show every parameter in words, with its clause and where it comes from.

    ID is as russian-poker@1; without @ it is the newest version; or the path of a JSON document.
    """
    ruleset = find_ruleset(ruleset_id)
    with reader_may_leave():
        if as_json:
            write_json_line(_as_json(ruleset))
        else:
            _print_ruleset(ruleset)


@rulesets.command()
@click.argument("a")
@click.argument("b")
def diff(a: str, b: str) -> None:
    """Say clause by clause what differs between A and B (each as the ID of `show`)."""
    first, second = find_ruleset(a), find_ruleset(b)
    with reader_may_leave():
        _print_differences(first, second)


# -- finding


def find_ruleset(name: str) -> Ruleset:
    """A released ruleset by name, its newest version without one, or a document by path.  Raises UsageError."""
    released = released_rulesets()
    if name in released:
        return released[name]
    versions = [ruleset for ruleset in released.values() if ruleset.document.id == name]
    if versions:
        return max(versions, key=lambda ruleset: ruleset.document.version)
    return _read_document(name, sorted(released))


def _read_document(path: str, released: list[str]) -> Ruleset:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_DOCUMENT + 1)
    except (FileNotFoundError, ValueError):  # a ValueError is a zero byte in the name
        known = ", ".join(released)
        raise UsageError(f"ruleset {path!r}: no released ruleset and no file; there are {known}") from None
    except OSError as error:
        raise UsageError(f"ruleset {path!r}: {error.strerror}") from None
    if len(data) > LARGEST_DOCUMENT:
        raise UsageError(f"ruleset {path!r}: longer than {LARGEST_DOCUMENT} bytes")
    try:
        return load_ruleset(data)
    except RulesetError as error:
        raise UsageError(f"{path}: {error}") from None


# -- printing


def _print_list() -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("ruleset", "title", "boxes", "digest"):
        table.add_column(heading, justify="right" if heading == "boxes" else "left")
    for ruleset in released_rulesets().values():
        start = ruleset.digest.hex()[:12] + "…"
        table.add_row(ruleset.name, ruleset.document.title.en, str(ruleset.boxes_on_table), start)
    data_console().print(table)


def _print_ruleset(ruleset: Ruleset) -> None:
    from rich.table import Table

    document = ruleset.document
    table = Table(box=None, pad_edge=False)
    for heading in ("clause", "says", "source"):
        table.add_column(heading, no_wrap=heading != "says")
    for name, parameter in _by_clause(ruleset):
        table.add_row(ruleset.clause(parameter.clause), "\n".join(sentences(name, parameter.value)), parameter.source)
    console = data_console()
    console.print(f"{ruleset.name}  {printable(document.title.en)}", style="bold")
    console.print(f"{printable(document.title.ru)}\ndigest {ruleset.digest.hex()}")
    console.print("Amounts in minor units. Source: text, the game's own rules say so; house, decided here.\n")
    console.print(table)


def _as_json(ruleset: Ruleset) -> dict[str, Any]:
    document = ruleset.document
    parameters = {
        name: {
            "value": msgspec.to_builtins(parameter.value),
            "source": parameter.source,
            "clause": ruleset.clause(parameter.clause),
            "words": sentences(name, parameter.value),
        }
        for name, parameter in _by_clause(ruleset)
    }
    title = msgspec.to_builtins(document.title)
    return {"ruleset": ruleset.name, "digest": ruleset.digest.hex(), "title": title, "parameters": parameters}


def _by_clause(ruleset: Ruleset) -> list[tuple[str, Parameter[Any]]]:
    parameters = [(name, getattr(ruleset.document.parameters, name)) for name in Parameters.__struct_fields__]
    return sorted(parameters, key=lambda named: _clause_order(named[1].clause))


def _clause_order(clause: str) -> tuple[int, ...]:
    return tuple(int(part) for part in clause.split("."))


# -- differences


def _print_differences(a: Ruleset, b: Ruleset) -> None:
    from rich.table import Table

    console = data_console()
    if a.digest == b.digest:
        console.print(f"{a.name} and {b.name} are the same document.\ndigest {a.digest.hex()}")
        return
    for letter, ruleset in (("A", a), ("B", b)):
        title = printable(ruleset.document.title.en)
        console.print(f"{letter}  {ruleset.name}  {title}  {ruleset.digest.hex()[:12]}…")
    lines = Table.grid(padding=(0, 1, 0, 0))
    for line in differences(a, b):
        lines.add_row("-", line)
    if not lines.row_count:
        console.print("All parameters are equal; only the name, the title or the prefix of the clauses differs.")
    console.print("", lines)


def differences(a: Ruleset, b: Ruleset) -> Iterator[str]:
    """What differs between two rulesets, in words, in the order of the clauses of `a`."""
    for name, mine in _by_clause(a):
        other: Parameter[Any] = getattr(b.document.parameters, name)
        where = _where(a, mine, b, other)
        changes = list(_changed_facts(name, mine.value, other.value))
        for change in changes:
            yield f"{change} {where}"
        if not changes and mine.source is not other.source:
            yield f"{_plain(name)}: the same value from another source {where}"
        elif not changes and mine.clause != other.clause:
            yield f"{_plain(name)}: the same value under another clause {where}"


def _where(a: Ruleset, mine: Parameter[Any], b: Ruleset, other: Parameter[Any]) -> str:
    """The clauses, with the sources where they differ."""
    places = [a.clause(mine.clause), b.clause(other.clause)]
    if mine.source is not other.source:
        places = [f"{places[0]} {mine.source}", f"{places[1]} {other.source}"]
    return f"({' / '.join(dict.fromkeys(places))})"


def _changed_facts(name: str, mine: Any, other: Any) -> Iterator[str]:
    in_a = {fact.subject: fact.words for fact in facts(name, mine)}
    in_b = {fact.subject: fact.words for fact in facts(name, other)}
    for subject in dict.fromkeys((*in_a, *in_b)):
        words = [facts_of.get(subject, _ABSENT.get(name, "")) for facts_of in (in_a, in_b)]
        if words[0] != words[1]:
            yield f"{subject} {words[0]} in A, {words[1]} in B"


def _plain(name: str) -> str:
    return name.replace("_", " ").capitalize()


# -- parameters in words


class Fact(NamedTuple):
    """One thing that a parameter says."""

    subject: str
    words: str


def sentences(name: str, value: Any) -> list[str]:
    """A parameter's value in words, one sentence or, of a table, one a row."""
    return [f"{fact.subject} {fact.words}" for fact in facts(name, value)] or [_EMPTY[name]]


def facts(name: str, value: Any) -> list[Fact]:
    """A parameter's value as facts, one or, of a table, one a row."""
    tell = _TABLES.get(name)
    if tell is not None:
        return tell(value)
    subject, words = _SENTENCES[name]
    return [Fact(subject, words(value))]


def _bet_odds(odds: dict[str, int]) -> list[Fact]:
    return [Fact(f"{_combination(name).capitalize()} pays", f"{odd:,} to 1") for name, odd in odds.items()]


def _bonus_odds(odds: dict[str, int]) -> list[Fact]:
    return [Fact(f"The bonus on {_combination(name)} pays", f"{odd:,} to 1") for name, odd in odds.items()]


def _jackpot_shares(shares: dict[str, Share]) -> list[Fact]:
    return [
        Fact(f"{_combination(name).capitalize()} wins", f"{_share(s)} of the jackpot") for name, s in shares.items()
    ]


def _table_defaults(limits: Limits) -> list[Fact]:
    names = ("lowest ante", "highest ante", "step of the ante", "lowest bonus", "highest bonus")
    amounts = (limits.ante_min, limits.ante_max, limits.ante_step, limits.bonus_min, limits.bonus_max)
    told = [(name, f"{amount:,}") for name, amount in zip(names, amounts, strict=True)]
    told.append(("maximum payout", "none" if limits.payout_max is None else f"{limits.payout_max:,}"))
    return [Fact(f"A table's {name}, unless it sets another:", words) for name, words in told]


def _exchange(prices: list[int]) -> list[Fact]:
    if not prices:
        return [Fact("An exchange", "is not offered")]
    runs = [(price, [count for count, _ in run]) for price, run in groupby(enumerate(prices, 1), key=lambda p: p[1])]
    words = [f"of {_cards(counts)} costs {_antes(price)}" for price, counts in runs]
    return [Fact("An exchange", ", ".join(words))]


def _cards(counts: list[int]) -> str:
    first, last = counts[0], counts[-1]
    return ("1 card" if first == 1 else f"{first} cards") if first == last else f"{first} to {last} cards"


def _antes(halves: int) -> str:
    """A price in half antes, as in 1 1/2 antes."""
    whole, half = divmod(halves, 2)
    if not whole:
        return "1/2 ante" if half else "nothing"
    return f"{whole}{' 1/2' if half else ''} {'ante' if halves == 2 else 'antes'}"


def _price(halves: int | None) -> str:
    return "is not offered" if halves is None else f"costs {_antes(halves)}"


def _share(share: Share) -> str:
    numerator, denominator = share
    return "the whole" if numerator == denominator else f"{numerator}/{denominator}"


def _combination(name: str) -> str:
    """A combination in words; ace-king keeps its hyphen."""
    return name if name == "ace-king" else name.replace("-", " ")


def _from(name: str | None) -> str:
    return "is not offered" if name is None else f"is offered from {_combination(name)} upwards"


def _one_of(**words: str) -> Callable[[Any], str]:
    """Words for each value of a closed list; None stands under `none`, True and False under `true` and `false`."""
    by_value = {name.replace("_", "-"): text for name, text in words.items()}
    return lambda value: by_value[str(value).lower()]


_TABLES: Final[dict[str, Callable[[Any], list[Fact]]]] = {
    "table_defaults": _table_defaults,
    "bonus_odds": _bonus_odds,
    "jackpot_shares": _jackpot_shares,
    "exchange_half_antes": _exchange,
    "bet_odds": _bet_odds,
}

_EMPTY: Final = {
    "bonus_odds": "The bonus is paid on no combination by odds",
    "jackpot_shares": "The jackpot is won by no combination",
}
"""What a table without rows says."""

_ABSENT: Final = {"bonus_odds": "nothing", "jackpot_shares": "no share of the jackpot"}
"""What the row of a table says in the ruleset that doesn't have it."""

_SENTENCES: Final[dict[str, tuple[str, Callable[[Any], str]]]] = {
    "qualifier": ("The dealer qualifies", lambda name: f"with {_combination(name)} or better"),
    "second_combination": ("A second combination", _one_of(true="is paid", false="is not paid")),
    "doubled_straight": (
        "A straight with one of its ranks twice counts",
        _one_of(two_straights="as two straights", straight_and_pair="as a straight and a pair"),
    ),
    "boxes_on_table": ("Boxes on the table:", str),
    "boxes_per_player": ("Boxes of one player, at most:", str),
    "boxes_adjacent": ("The boxes of one player", _one_of(true="stand side by side", false="stand anywhere")),
    "open_boxes_per_player": ("Open boxes of one player, at most:", str),
    "dark_boxes_per_player": ("Dark boxes of one player, at most:", str),
    "open_antes": ("The antes on a player's open boxes", _one_of(equal="are equal", free="are free of each other")),
    "bonus_stake": (
        "A bonus stake",
        _one_of(none="is not offered", up_to_ante="is at most the ante", table_limits="keeps to the table's limits"),
    ),
    "funds_at_deal_half_antes": (
        "At the deal the account holds, for each open box and besides its bonus, at least",
        lambda halves: "its ante" if halves == 0 else _antes(halves),
    ),
    "funds_after_draw_half_antes": ("After a draw the account still holds, for the BET, at least", _antes),
    "deal_order": ("Cards are dealt", _one_of(packets="five at a time", one_by_one="one at a time")),
    "upcard": ("The dealer's open card", _one_of(first="is the first", last="is the last")),
    "hands_shown": ("The hands of open boxes", _one_of(at_deal="are shown at the deal", in_turn="are shown in turn")),
    "jackpot_contribution": (
        "The jackpot",
        lambda share: f"gets {_share(share)} of each bonus stake" if share[0] else "gets nothing from bonus stakes",
    ),
    "jackpot_seed_amount": ("The jackpot starts at", lambda amount: f"{amount:,}"),
    "bonus_needs_announcement": (
        "A winning bonus",
        _one_of(true="is lost by a fold that comes before anything else", false="is safe from a fold"),
    ),
    "bet_antes": ("The BET is", lambda antes: _antes(2 * antes)),
    "sixth_card_half_antes": ("A sixth card", _price),
    "draw_timing": (
        "Drawn cards are dealt",
        _one_of(at_once="at once", after_all_decided="after all boxes have decided"),
    ),
    "dark_sixth_card": ("A dark box", _one_of(true="may buy a sixth card", false="makes no draw")),
    "insurance_from": ("Insurance", _from),
    "insurance_share": (
        "The largest insurance is",
        lambda share: f"{_share(share)} of what the BET would win, rounded down",
    ),
    "insurance_within_payout_max": (
        "The maximum payout",
        _one_of(true="limits the insurance stake too", false="does not limit the insurance stake"),
    ),
    "insurance_loss": (
        "Against a dealer who qualifies, insurance is lost",
        _one_of(always="always", if_player_higher="if the player's hand is higher, and else returned"),
    ),
    "dealer_game_half_antes": ("Buying the dealer's game", _price),
    "dealer_game_free_repeat": (
        "A replacement card of the same rank",
        _one_of(true="is replaced once more, free", false="stands"),
    ),
    "ante_on_win": (
        "On a win against a dealer who qualifies the ante is",
        _one_of(returned="returned", paid="paid 1 to 1"),
    ),
    "payout_max_covers": (
        "The maximum payout limits",
        _one_of(nothing="no win", bet="the win on the BET", bet_and_insurance="the wins on BET and insurance together"),
    ),
}
