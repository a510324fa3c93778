"""House rules that a machine can hold: each failure says what to do instead.

Rules of the game stand in docs/rules, rules of the code in ARCHITECTURE.md and in the style that the modules share.

Not here: what ruff, mypy and import-linter hold already, but for the two that matter most (imports, floats), which are
looked at once more.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ("domain", "replay")
CODE = ("domain", "replay", "projections", "ops")
PAGES = sorted((ROOT / "docs/rules").glob("*.??.md"))


def modules(*folders: str) -> list[Path]:
    """Python files of these folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def name(path: Path) -> str:
    """The path from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(path.read_text(), str(path))


# -- clauses

NUMBER = r"\d{1,2}\.\d{1,2}"
ITEM = rf"{NUMBER}(?:\s+to\s+{NUMBER})?(?:\s+\([^)]*\))?"
NEXT = r"(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+with\s+)"
CITED = re.compile(rf"\b(?:rules?|clauses?)\s+({ITEM}(?:{NEXT}{ITEM})*)", re.I)
CALLED = re.compile(rf"""clause\(\s*["']({NUMBER})["']""")
YIELDED = re.compile(rf"""yield \(?["']({NUMBER})["']""")


def clauses_of(page: Path) -> set[str]:
    """The numbers of a rule page's clauses."""
    return set(re.findall(rf"^\*\*[A-Z]+-({NUMBER})\*\*", page.read_text(), re.M))


def cited_in(text: str) -> set[str]:
    """Numbers after the word rule or clause: one, several, `8.2 and 8.4`, or a range `9.1 to 9.5`."""
    found = set(CALLED.findall(text)) | set(YIELDED.findall(text))
    unbroken = re.sub(r"\s*\n\s*(?:#\s*)?", " ", text)
    for items in CITED.findall(unbroken):
        for item in re.findall(ITEM, items):
            found |= set(_range(re.sub(r"\(.*", "", item)))
    return found


def _range(item: str) -> Iterator[str]:
    first, *last = re.findall(NUMBER, item)
    yield first
    if last:
        section, start = first.split(".")
        other, end = last[0].split(".")
        if section == other:
            yield from (f"{section}.{number}" for number in range(int(start), int(end) + 1))


def in_order(numbers: Iterable[str]) -> list[str]:
    """Clause numbers as a page has them."""
    return sorted(numbers, key=lambda number: [int(part) for part in number.split(".")])


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("# Rule 7.1: from which hand", {"7.1"}),
        ("rules 5.3 and 7.2", {"5.3", "7.2"}),
        ("clauses 6.2 and 9.1 to 9.3", {"6.2", "9.1", "9.2", "9.3"}),
        ("Clauses 3.1, 3.2 and 4.1", {"3.1", "3.2", "4.1"}),
        ("clauses 4.1 (deal), 6.1 (decisions) and 8.2", {"4.1", "6.1", "8.2"}),
        ("clauses 7.1\n    to 7.3", {"7.1", "7.2", "7.3"}),
        ('ruleset.clause("10.2")', {"10.2"}),
        ("version 7.1 of 9.2", set()),
    ],
)
def test_a_citation_is_read_in_every_form_it_is_written(text: str, numbers: set[str]) -> None:
    """The reader of the two tests below."""
    assert cited_in(text) == numbers


def test_every_rule_page_has_the_same_clauses() -> None:
    """Eight pages, one numbering."""
    assert len(PAGES) == 8
    numbers = {name(page): clauses_of(page) for page in PAGES}
    whole = set().union(*numbers.values())
    missing = {page: in_order(whole - found) for page, found in numbers.items() if whole - found}

    assert missing == {}, "give each page its clause of that number: what the game does, or that it lacks the thing"


def test_every_clause_is_cited_by_the_code() -> None:
    """In a comment, a docstring, a refusal, a derivation line or a parameter of a ruleset."""
    cited = set().union(*(cited_in(path.read_text()) for path in modules("domain")))
    for document in (ROOT / "domain/rulesets").glob("*.json"):
        cited |= {parameter["clause"] for parameter in json.loads(document.read_text())["parameters"].values()}
    missing = in_order(clauses_of(PAGES[0]) - cited)

    assert missing == [], "cite each at the branch in domain/ that implements it, as `# Rule 7.1: ...`"


def test_every_clause_is_cited_by_a_test() -> None:
    """In the docstring of the test that plays it."""
    tests = [path for path in modules("tests") if path != Path(__file__).resolve()]
    cited = set().union(*(cited_in(path.read_text()) for path in tests))
    missing = in_order(clauses_of(PAGES[0]) - cited)

    assert missing == [], "write a test for each in tests/rules/ and cite it in its docstring, as `Rule 7.1: ...`"


def test_the_code_cites_no_clause_that_does_not_exist() -> None:
    """A citation that leads nowhere is worse than none."""
    known = clauses_of(PAGES[0])
    lost = {name(path): in_order(cited_in(path.read_text()) - known) for path in modules(*CODE)}

    assert {path: numbers for path, numbers in lost.items() if numbers} == {}, "name the clause that is meant"


# -- shape


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a module."""
    yield from (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_function_is_longer_than_fifty_lines() -> None:
    """From `def` to its last line."""
    long = {
        f"{name(path)}:{function.lineno} {function.name}": (function.end_lineno or 0) - function.lineno + 1
        for path in modules(*CODE)
        for function in functions(path)
    }

    assert {where: lines for where, lines in long.items() if lines > 50} == {}, "take a part out that has a name"


def test_every_module_says_what_it_is_for_and_what_is_not_here() -> None:
    """Two sentences at least, one of them beginning with "Not here"; an `__init__` may be silent."""
    lacking = []
    for path in modules(*CODE):
        if path.name == "__init__.py":
            continue
        docstring = ast.get_docstring(tree(path)) or ""
        sentences = re.findall(r"[.?!](?=\s|$)", docstring)
        if len(sentences) < 2 or "Not here" not in docstring:
            lacking.append(name(path))

    assert lacking == [], "open the module with what it is for, where its rules come from, and `Not here: ...`"


# -- money and the world


def test_no_amount_meets_a_fraction() -> None:
    """No `/` and no float, not even a literal, in domain/ and replay/: amounts are whole (`//`, `floor_share`)."""
    found = []
    for path in modules(*CORE):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
                found.append(f"{name(path)}:{node.lineno} {node.value!r}")
            elif isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
                found.append(f"{name(path)}:{node.lineno} /")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("float", "round"):
                found.append(f"{name(path)}:{node.lineno} {node.func.id}()")

    assert found == [], "count in whole minor units and round down in `domain.money` alone"


WORLD = {
    "random", "secrets", "time", "datetime", "os", "socket", "ssl", "uuid", "subprocess", "tempfile", "threading",
    "asyncio", "urllib", "http", "sqlite3", "psycopg", "psycopg_pool", "eventsourcing", "sqlalchemy", "alembic",
    "marshmallow", "structlog", "click", "rich", "cryptography", "environs", "platformdirs", "logging",
    "flask", "flask_smorest", "werkzeug", "granian",
}  # fmt: skip
CALLS = {"open", "input", "print", "eval", "exec", "__import__", "id", "hash"}


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and whole name of everything that a module imports, wherever in the file."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


def test_the_pure_folders_know_no_clock_no_chance_and_no_world() -> None:
    """A second line behind import-linter: imports at any depth, and built-ins that read or depend on the world."""
    found = []
    for path in modules(*CORE):
        found += [f"{name(path)}:{line} {module}" for line, module in imported(path) if module.split(".")[0] in WORLD]
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
                found.append(f"{name(path)}:{node.lineno} {node.func.id}()")

    assert found == [], "pass it in as an argument from ops/"


def test_the_folders_see_only_what_is_below_them() -> None:
    """domain sees nobody of ours, replay and projections see domain alone."""
    allowed = {"domain": {"domain"}, "replay": {"domain", "replay"}, "projections": {"domain", "projections"}}
    ours = {*CODE, "tests"}
    found = [
        f"{name(path)}:{line} {module}"
        for folder, below in allowed.items()
        for path in modules(folder)
        for line, module in imported(path)
        if module.split(".")[0] in ours - below
    ]

    assert found == [], "move the shared part down, or pass it in from above"


# -- names of games


def test_the_engine_asks_for_no_games_name() -> None:
    """A game is parameters; no branch on its name, and no name at all outside comments and docstrings."""
    games = {path.stem.split("@")[0] for path in (ROOT / "domain/rulesets").glob("*.json")}
    assert len(games) == 4
    prefixes = {"RP", "ORP", "FCP", "MRP"}
    found = []
    for path in modules("domain"):
        if path.parent.name == "rulesets":
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and not _is_docstring(path, node):
                words = set(re.findall(r"[A-Za-z-]+", node.value))
                if words & prefixes or any(game in node.value for game in games):
                    found.append(f"{name(path)}:{node.lineno} {node.value!r}")

    assert found == [], "make the difference a parameter of the ruleset document"


def _is_docstring(path: Path, constant: ast.Constant) -> bool:
    """A text that stands alone as a statement says something to the reader, not to the engine."""
    return constant in _lone_texts(path)


@cache
def _lone_texts(path: Path) -> frozenset[ast.expr]:
    return frozenset(node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Expr))


# -- what no file may hold


def tracked() -> list[Path]:
    """Files that are in the repository, or will be when they are added."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    return [path for path in (ROOT / line for line in listed.split("\0") if line) if path.is_file()]


# Made of pieces, so that this file does not hold what it looks for.
HOSTS = [
    "pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "npmjs" + ".com", "crates" + ".io", "conda" + ".io",
    "anaconda" + ".org", "rubygems" + ".org", "proxy.golang" + ".org", "registry.yarnpkg" + ".com",
    "repo.maven.apache" + ".org", "docker" + ".io", "ghcr" + ".io", "quay" + ".io", "artifactory" + ".",
    "jfrog" + ".io", "file:" + "//", "--index" + "-url", "--find" + "-links", "--extra-index" + "-url",
]  # fmt: skip


def test_no_file_names_a_package_host_or_a_local_address() -> None:
    """Where packages come from is the installer's business, not the repository's."""
    found = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", "replace").lower()
        found += [f"{name(path)}: {host}" for host in HOSTS if host in text]

    assert found == [], "leave the host out: requirements name packages and versions only"


def test_no_file_holds_a_private_key() -> None:
    """Keys live outside the repository; those of the known answers are public vectors."""
    marker = b"PRIVATE" + b" KEY-----"
    found = [name(path) for path in tracked() if marker in path.read_bytes() and "vectors" not in path.parts]

    assert found == [], "generate it where it is used"
