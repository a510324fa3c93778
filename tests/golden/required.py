"""What the golden rounds of each game cover: a closed list, and what no golden round covers, with the reason.

R Russian Poker, O Open Russian Poker, F Classic Five-Card Poker, M Multi-box Russian Poker; a dot where a game does not
have the branch, or has it so seldom that no round of it was found (`NOT_COVERED`).

Not here: how a branch is told from the events (`branches`).
"""

from __future__ import annotations

from typing import Final

LETTERS: Final = {
    "R": "russian-poker@1",
    "O": "open-russian-poker@1",
    "F": "five-card-poker@1",
    "M": "multibox-russian-poker@1",
}


def required(ruleset: str) -> set[str]:
    """The branches that the golden file of a ruleset walks."""
    rows = (line.split(" ", 1) for line in COVERED.strip().splitlines())
    return {branch for letters, branch in rows if any(LETTERS.get(letter) == ruleset for letter in letters)}


NOT_COVERED: Final = {
    "bonus not announced": "clause 5.4: bonus_needs_announcement is false in all four games",
    "jackpot cut by what is left of the pot": "clause 5.3: two boxes with a straight flush or better in one deal",
    "free replacement by the same rank: a game": "clause 8.4: about one deal in some hundred millions",
}
"""Tested by hand-made rounds and rulesets elsewhere: tests/rules, tests/rulesets."""

COVERED: Final = """
ROFM 1 boxes
.OFM 2 boxes
.OFM 3 boxes
.O.M 4 boxes
ROFM 5 cards shown, phase deciding
.O.M 5 cards shown, phase revealed
...M 6 cards shown, phase revealed
RO.. ante-taken.v1 by the house
ROFM beacon
ROFM bet-made.v1 after a draw
ROFM bet-made.v1 by the house
ROFM bet-made.v1 without a draw
ROFM bonus
.O.. bonus jackpot: royal-flush
.O.. bonus jackpot: straight-flush
ROFM bonus lost: ace-king
ROFM bonus lost: no-game
ROFM bonus lost: pair
R.FM bonus lost: two-pair
.O.M bonus of a dark box
ROFM bonus of an open box
.O.. bonus too small for a contribution
ROFM bonus wins: flush
ROFM bonus wins: four-of-a-kind
ROFM bonus wins: full-house
R.FM bonus wins: royal-flush
ROFM bonus wins: straight
R.FM bonus wins: straight-flush
ROFM bonus wins: three-of-a-kind
.O.. bonus wins: two-pair
..FM box placed after a higher one
ROFM box-folded.v1 after a draw
ROFM box-folded.v1 by the house
ROFM box-folded.v1 without a draw
ROFM client seed
.O.M dark box
ROFM dealer has a game
ROFM dealer has no game
RO.. dealer-game-bought.v1 by the house
RO.. event ante-taken.v1
ROFM event bet-made.v1
ROFM event bonus-settled.v1
ROFM event box-folded.v1
ROFM event box-placed.v1
ROFM event box-settled.v1
ROFM event cards-dealt.v1
ROFM event cards-drawn.v1
RO.. event dealer-card-replaced.v1
RO.. event dealer-game-bought.v1
ROFM event dealer-revealed.v1
ROFM event exchange-bought.v1
ROFM event hand-shown.v1
...M event hidden-card-drawn.v1
RO.M event insurance-bought.v1
RO.M event insurance-settled.v1
.O.. event jackpot-contributed.v1
.O.. event jackpot-won.v1
ROFM event round-closed.v1
ROFM event round-opened.v1
ROFM event round-voided.v1
ROFM event seed-revealed.v1
RO.M event sixth-card-bought.v1
...M event sixth-card-declined.v1
ROFM exchange in another order
ROFM exchange in ascending order
ROFM exchange of 1
ROFM exchange of 2
RO.M exchange of 3
RO.M exchange of 4
RO.M exchange of 5
ROFM exchange-bought.v1 by the house
ROFM folded at the first reveal
.O.. folded while another buys
ROFM folded, an open box
.O.. free replacement by the other rank: a game
.O.. free replacement by the other rank: no game
.O.. free replacement by the same rank: no game
RO.M insurance after a draw
RO.M insurance between
RO.M insurance largest
R... insurance lost, dealer equal
R... insurance lost, dealer higher
RO.M insurance lost, dealer lower
.O.M insurance returned, dealer equal
.O.M insurance returned, dealer higher
RO.M insurance smallest
RO.M insurance without a draw
RO.M insurance won
RO.M insurance-bought.v1 by the house
.O.. jackpot above zero: royal-flush
.O.. jackpot above zero: straight-flush
.O.. jackpot reversed above zero
ROFM jackpot reversed zero
.O.. jackpot zero: straight-flush
ROFM longest client seed
RO.. lost after its purchase
ROFM lost at the first reveal
.O.M lost, a dark box
ROFM lost, an open box
ROFM no beacon
ROFM no bonus
ROFM no client seed
RO.. no-game after its purchase
ROFM no-game at the first reveal
.O.. no-game while another buys
.O.M no-game, a dark box
ROFM no-game, an open box
.O.. nothing left of the maximum, insurance won
ROFM open box
RO.. paid replacement by the other rank: a game
RO.. paid replacement by the other rank: no game
RO.. paid replacement by the same rank: a game
RO.. paid replacement by the same rank: no game
ROFM refund above zero
.OFM refund below zero
ROFM round net above zero
ROFM round net below zero
ROFM round net zero
RO.M second ace-king
RO.M second pair
RO.M second straight
RO.M second two-pair
...M sixth card of a dark box
RO.M sixth card of an open box
RO.M sixth-card-bought.v1 by the house
...M sixth-card-declined.v1 by the house
RO.. tied after its purchase
ROFM tied at the first reveal
ROFM tied, an open box
RO.M tied, insured
R.FM tied, not insured
ROFM void in phase betting
ROFM void in phase deciding
RO.. void in phase revealed
.OF. win cut
.O.. win cut, insurance won
.OF. win within the maximum
.O.. win within the maximum, insurance won
RO.. won after its purchase
ROFM won at the first reveal
ROFM won with ace-king
ROFM won with flush
ROFM won with four-of-a-kind
ROFM won with full-house
ROFM won with pair
ROFM won with royal-flush
ROFM won with straight
ROFM won with straight-flush
ROFM won with three-of-a-kind
ROFM won with two-pair
.O.M won, a dark box
ROFM won, an open box
"""
