"""Make the golden files of the released rulesets: run once a version, for the files are kept for ever.

    python -m tests.golden.make_golden

For each ruleset without a file, thousands of rounds are played from fixed seeds and a few hundred are kept: first those
that walk a rare branch, then the first ones until the file is full.  What chance doesn't bring within thousands of
rounds is searched by its deck (`RARE`).  An existing file is never overwritten.

Not here: how a round is played (`play`), the tampered copies (`make_tampered`).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from domain.hands import Combination, Hand, evaluate
from domain.record import Record
from domain.round.codec import decode
from domain.round.events import Mode
from domain.ruleset import Ruleset
from domain.rulesets import released_rulesets
from tests.golden.branches import branches
from tests.golden.files import GOLDEN, to_json
from tests.golden.play import Plan, plan, play

PLAYED: Final = 4000
KEPT: Final = 300
LARGEST_FILE: Final = 1_450_000
EXAMPLES: Final = 3
"""So many rounds of each branch are kept, where there are as many."""

FIRST_SEARCHED: Final = 100_001
ATTEMPTS_A_PLAN: Final = 20_000
PLANS: Final = 400


class Candidate(NamedTuple):
    """A played round, the line that it would be, and what it walks."""

    number: int
    line: str
    walks: set[str]


class Dealt(NamedTuple):
    """What a deck deals before anybody draws: the boxes' hands, the dealer's, and the dealer's after a purchase."""

    hands: list[Hand]
    dealer: Hand
    after_purchase: Hand | None
    same_rank: bool


Sought = Callable[[Dealt], bool]

RARE: Final[dict[str, Sought]] = {
    "tied at the first reveal": lambda d: any(hand.strength == d.dealer.strength for hand in d.hands),
    "tied, insured": lambda d: _insurable_tie(d),
    "insurance lost, dealer equal": lambda d: _insurable_tie(d),
    "insurance returned, dealer equal": lambda d: _insurable_tie(d),
    "insurance lost, dealer higher": lambda d: any(
        _insurable(hand) and hand.strength < d.dealer.strength for hand in d.hands
    ),
    "insurance returned, dealer higher": lambda d: any(
        _insurable(hand) and hand.strength < d.dealer.strength for hand in d.hands
    ),
    "tied after its purchase": lambda d: (
        d.after_purchase is not None and any(hand.strength == d.after_purchase.strength for hand in d.hands)
    ),
    "paid replacement by the same rank: a game": lambda d: (
        d.same_rank and d.after_purchase is not None and d.after_purchase.main > Combination.ACE_KING
    ),
    "bonus wins: four-of-a-kind": lambda d: _someone(d, Combination.FOUR_OF_A_KIND),
    "bonus wins: straight-flush": lambda d: _someone(d, Combination.STRAIGHT_FLUSH),
    "bonus wins: royal-flush": lambda d: _someone(d, Combination.ROYAL_FLUSH),
    "jackpot above zero: straight-flush": lambda d: _someone(d, Combination.STRAIGHT_FLUSH),
    "jackpot zero: straight-flush": lambda d: _someone(d, Combination.STRAIGHT_FLUSH),
    "jackpot above zero: royal-flush": lambda d: _someone(d, Combination.ROYAL_FLUSH),
    "won with four-of-a-kind": lambda d: _someone(d, Combination.FOUR_OF_A_KIND),
    "won with straight-flush": lambda d: _someone(d, Combination.STRAIGHT_FLUSH),
    "won with royal-flush": lambda d: _someone(d, Combination.ROYAL_FLUSH),
}
"""Branches too rare for chance, each with the decks that can bring it; which game can have them says `offers`."""


def main() -> int:
    """Write the missing files; the exit status is 1 if nothing was missing."""
    missing = {name: GOLDEN / f"{name}.jsonl" for name in released_rulesets()}
    missing = {name: path for name, path in missing.items() if not path.exists()}
    if not missing:
        print("make_golden: every released ruleset has its golden file; a golden file is never overwritten")
        return 1
    for name, path in missing.items():
        chosen = chosen_rounds(released_rulesets()[name])
        path.write_text("".join(candidate.line for candidate in chosen), encoding="utf-8")
        walked = set().union(*(candidate.walks for candidate in chosen))
        print(f"{path.name}: {len(chosen)} rounds, {len(walked)} branches, {path.stat().st_size:,} bytes", flush=True)
    return 0


def chosen_rounds(ruleset: Ruleset) -> list[Candidate]:
    """The rounds to keep, in the order of their numbers."""
    pool = [_candidate(ruleset, plan(ruleset, number), 0) for number in range(1, PLAYED + 1)]
    walked = set().union(*(candidate.walks for candidate in pool))
    for branch in offers(ruleset):
        if branch not in walked:
            found = _searched(ruleset, branch)
            pool += found
            walked.update(*(candidate.walks for candidate in found))
    return sorted(_chosen(pool))


def _chosen(pool: Sequence[Candidate]) -> Iterator[Candidate]:
    """Those that a branch needs, rarest branch first; then the first ones, until the file is full."""
    frequency = Counter(branch for candidate in pool for branch in candidate.walks)
    taken, have, size = set[int](), Counter[str](), 0
    for branch, _ in sorted(frequency.items(), key=lambda item: (item[1], item[0])):
        for candidate in pool:
            if have[branch] >= EXAMPLES:
                break
            if branch in candidate.walks and candidate.number not in taken:
                taken.add(candidate.number)
                have.update(candidate.walks)
                size += len(candidate.line.encode())
                yield candidate
    for candidate in pool:
        size += len(candidate.line.encode())
        if len(taken) >= KEPT or size > LARGEST_FILE:
            return
        if candidate.number in taken:
            size -= len(candidate.line.encode())
            continue
        taken.add(candidate.number)
        yield candidate


def _candidate(ruleset: Ruleset, planned: Plan, attempt: int) -> Candidate:
    records: list[Record] = play(planned, attempt)
    bodies = [record.body for record in records]
    value = to_json(records[0].stream, bodies)
    line = json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"
    return Candidate(planned.number, line, branches(ruleset, (decode(body).data for body in bodies)))


# -- what chance doesn't bring


def offers(ruleset: Ruleset) -> list[str]:
    """The rare branches that this game has."""
    shares = {f"bonus wins: {main.name.lower().replace('_', '-')}" for main in ruleset.jackpot_shares}
    return [branch for branch in RARE if branch not in shares and _offered(ruleset, branch)]


def _offered(ruleset: Ruleset, branch: str) -> bool:
    if branch.startswith("jackpot"):
        return bool(ruleset.jackpot_shares)
    if branch.startswith("insurance lost, dealer"):
        return ruleset.insurance_from is not None and ruleset.insurance_always_lost
    if branch.startswith("insurance returned"):
        return ruleset.insurance_from is not None and not ruleset.insurance_always_lost
    if branch == "tied, insured":
        return ruleset.insurance_from is not None
    if "purchase" in branch or "replacement" in branch:
        return ruleset.dealer_game_half_antes is not None
    return True


def _searched(ruleset: Ruleset, branch: str) -> list[Candidate]:
    """A round with this branch, or none within the bounds of the search."""
    for number in _plans(ruleset, branch):
        planned = plan(ruleset, number)
        for attempt in range(ATTEMPTS_A_PLAN):
            if RARE[branch](_dealt(planned, attempt)):
                candidate = _candidate(ruleset, plan(ruleset, number), attempt)
                if branch in candidate.walks:
                    return [candidate]
    print(f"{ruleset.name}: no round found for {branch!r}", file=sys.stderr, flush=True)
    return []


def _plans(ruleset: Ruleset, branch: str) -> list[int]:
    """Numbers of plans that suit a branch, those with the most open boxes first: they show the most hands a deck."""
    suiting = []
    first = FIRST_SEARCHED + 10_000 * list(RARE).index(branch)  # no two rounds of a file have one number
    for number in range(first, first + 2000):
        planned = plan(ruleset, number)
        if planned.void_after is None and _suits(ruleset, planned, branch):
            suiting.append((-sum(box.mode is Mode.OPEN for box in planned.placed), number))
    return [number for _, number in sorted(suiting)[:PLANS]]


def _suits(ruleset: Ruleset, planned: Plan, branch: str) -> bool:
    """Whether the plan has the stakes that the branch needs on every box."""
    if branch.startswith("jackpot zero") and planned.deal.jackpot:
        return False
    if branch.startswith("jackpot above") and not planned.deal.jackpot:
        return False
    needs_bonus = ruleset.bonus_stake is not None and branch.startswith(("bonus", "jackpot"))
    return not needs_bonus or all(box.bonus for box in planned.placed)


def _dealt(planned: Plan, attempt: int) -> Dealt:
    deck, ruleset, count = planned.deck(attempt), planned.ruleset, len(planned.placed) + 1
    cards = deck.cards(0, 5 * count)
    fives = [cards[slot::count] if ruleset.one_by_one else cards[5 * slot : 5 * slot + 5] for slot in range(count)]
    hands = [evaluate(five) for five in fives]
    dealer = hands.pop()
    if ruleset.dealer_game_half_antes is None or dealer.main >= ruleset.qualifier:
        return Dealt(hands, dealer, None, False)
    old, new = max(fives[-1], key=lambda card: card >> 2), deck.cards(5 * count, 5 * count + 1)[0]
    after = evaluate([new if card == old else card for card in fives[-1]])
    return Dealt(hands, dealer, after, new >> 2 == old >> 2)


def _someone(dealt: Dealt, main: Combination) -> bool:
    return any(hand.main == main for hand in dealt.hands)


def _insurable(hand: Hand) -> bool:
    return hand.main >= Combination.THREE_OF_A_KIND


def _insurable_tie(dealt: Dealt) -> bool:
    return any(_insurable(hand) and hand.strength == dealt.dealer.strength for hand in dealt.hands)


if __name__ == "__main__":
    sys.exit(main())
