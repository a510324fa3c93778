"""Hold the reference decoder against the known answers: `python check_answers.py KNOWN_ANSWERS RULESETS`.

Two folders of the kit (in the repository `tests/vectors` and `domain/rulesets`).  Prints one line a set of answers;
exit status 0 if each was decided as it says.  Standard library only.  Hold a decoder of your own against them likewise.

Not here: the decoder (`dealproof_reference.py`), where the answers come from (the README beside each).
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from ops.handover.reference import dealproof_reference as reference
else:
    import dealproof_reference as reference

Answer = tuple[str, bool]
"""What was decided, and whether as it should be."""

REFUSED_FOR_12_BYTES = "sizes-are-equal-one-and-proof-is-empty.json"
"""The one valid proof that is refused: its roots have 12 bytes, ours 32."""

IN_PROFILE = ("arrays", "unicode")

NOT_SEEN_HERE = ("legality", "payout", "ledger")
"""Rungs that ask what the rules of the game say."""


def merkle(folder: Path) -> Iterator[Answer]:
    """RFC 6962 proofs, valid and forged."""
    for path in sorted((folder / "merkle").rglob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        proof = [b64decode(step) for step in case["proof"] or []]
        try:
            if "leafIdx" in case:
                leaf, root = b64decode(case["leafHash"]), b64decode(case["root"])
                reference.check_inclusion(case["leafIdx"], case["treeSize"], leaf, proof, root)
            else:
                roots = b64decode(case["root1"]), b64decode(case["root2"])
                reference.check_consistency(case["size1"], case["size2"], *roots, proof)
            accepted = True
        except reference.Wrong:
            accepted = False
        refuse = case["wantErr"] or path.as_posix().endswith(f"consistency/additional/{REFUSED_FOR_12_BYTES}")
        yield path.name, accepted != refuse


def ed25519(folder: Path) -> Iterator[Answer]:
    """Project Wycheproof's signatures."""
    for group in json.loads((folder / "wycheproof/ed25519_test.json").read_text(encoding="utf-8"))["testGroups"]:
        key = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            good = reference.is_signature(key, bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
            yield str(case["tcId"]), good == (case["result"] == "valid")


def drbg(folder: Path) -> Iterator[Answer]:
    """NIST's answers for HMAC_DRBG with SHA-256, of the kind that a deal is: without reseed."""
    for case in json.loads((folder / "drbg/DRBG_CAVP_no_reseed.sha256.json").read_text(encoding="ascii")):
        fields = ("EntropyInput", "Nonce", "PersonalizationString", "ReturnedBits")
        entropy, nonce, personalization, wanted = (bytes.fromhex(case[field]) for field in fields)
        generator = reference.HmacDrbg(entropy, nonce, personalization)
        # The procedure of these answers: of two requests the second is compared.
        first, second = (bytes.fromhex(text) for text in case["AdditionalInput"])
        generator.generate(len(wanted), first)
        yield f"COUNT {case['COUNT']}", generator.generate(len(wanted), second) == wanted


def jcs(folder: Path) -> Iterator[Answer]:
    """RFC 8785, as far as it lies in our profile; what lies outside of it is refused."""
    for path in sorted((folder / "jcs/input").glob("*.json")):
        try:
            written = reference.canonical(reference.read_json(path.read_bytes()))
        except reference.Unreadable:
            written = b""
        wanted = (folder / "jcs/output" / path.name).read_bytes()
        yield path.name, written == (wanted if path.stem in IN_PROFILE else b"")


def golden(folder: Path) -> Iterator[Answer]:
    """Recorded rounds, all of which are true to themselves."""
    for path in sorted((folder / "golden").glob("*.jsonl")):
        for text in path.read_text(encoding="utf-8").splitlines():
            yield from _round(json.loads(text), "verified")


def tampered(folder: Path) -> Iterator[Answer]:
    """Forged rounds, as far as somebody can see it who doesn't know the rules of the game."""
    for path in sorted((folder / "golden/tampered").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case["expected"]["check"] not in NOT_SEEN_HERE:
            yield from _round(case, case["expected"]["verdict"])


def evidence(folder: Path) -> Iterator[Answer]:
    """Evidence files, true and tampered with; `index.json` has the trust file and the verdict of each."""
    cases = json.loads((folder / "evidence/index.json").read_text(encoding="utf-8"))
    for case in cases["files"]:
        trust = reference.read_trust((folder / "evidence" / case["trust"]).read_bytes())
        try:
            lines = reference.check_evidence((folder / "evidence" / case["file"]).read_bytes(), trust)
        except reference.Unreadable:
            yield case["file"], case["exit_status"] == 2 and case["verdict"] is None
            continue
        # What only the rules of the game tell may go unseen here.
        unseen = case["verdict"] == "discrepancy" and set(case["failing"]) <= set(NOT_SEEN_HERE)
        yield case["file"], STATUS[reference.status_of(lines)] in (case["verdict"], "verified" if unseen else "")
    for case in cases["receipts"]:
        trust = reference.read_trust((folder / "evidence" / case["trust"]).read_bytes())
        try:
            reference.open_receipt((folder / "evidence" / case["file"]).read_text(encoding="ascii").strip(), trust)
            good = True
        except (reference.Wrong, reference.Unreadable):
            good = False
        yield case["file"], good == case["good"]


def _round(value: Any, verdict: str) -> Iterator[Answer]:
    bodies = [body.encode("utf-8", "surrogatepass") for body in value["bodies"]]
    lines = reference.check_round(value["stream"], bodies, RULESETS)
    yield value["stream"], STATUS[reference.status_of(lines)] == verdict


STATUS = {0: "verified", 1: "discrepancy", 2: "not-checkable"}
RULESETS: list[Any] = []
SETS = {
    "merkle": merkle, "ed25519": ed25519, "drbg": drbg, "jcs": jcs, "golden": golden, "tampered": tampered,
    "evidence": evidence,
}  # fmt: skip


def main(known_answers: str, rulesets: str) -> int:
    """Print what was found; the exit status."""
    RULESETS[:] = [reference.read_json(path.read_bytes()) for path in sorted(Path(rulesets).glob("*.json"))]
    failed = 0
    for name, answers in SETS.items():
        decided = list(answers(Path(known_answers)))
        wrong = [answer for answer, right in decided if not right]
        print(f"{name:9} {len(decided) - len(wrong)} of {len(decided)} as they say", *wrong[:10])
        failed += len(wrong) + (not decided)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(f"usage: {sys.argv[0]} KNOWN_ANSWERS RULESETS")
    raise SystemExit(main(*sys.argv[1:]))
