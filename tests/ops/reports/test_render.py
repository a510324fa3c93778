"""A report in each of its forms: whole, harmless, the same bytes twice, in constant memory.

Format: docs/formats/report.md.  Not here: words and amounts (`test_words`), signing (`test_signing`).
"""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import resource
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pypdf
import pytest
import weasyprint
from hypothesis import given, settings
from hypothesis import strategies as st
from weasyprint.urls import FatalURLFetchingError

from ops.reports.building import ReportError
from ops.reports.model import Column, Kind, Report, Row, Section
from ops.reports.render import FORMATS, pdf, write_chart, write_file, writer
from ops.reports.render.csv_file import harmless
from ops.reports.words import Words
from tests.ops.reports.sample import CHART, FRAME, ROWS, long_report, small_report

EN, RU = Words("en"), Words("ru")
SHEET: Final = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def printed(report: Report, form: str, words: Words = EN) -> bytes:
    out = io.BytesIO()
    writer(form)(report, out, words)
    return out.getvalue()


def shown(form: str, data: bytes) -> str:
    """All that a person or a program reads in it."""
    if form == "xlsx":
        return "\n".join(text for rows in sheets(data) for row in rows for text in row)
    if form == "parquet":
        table = pq.read_table(io.BytesIO(data))
        told = "\n".join(value.decode() for value in pq.read_metadata(io.BytesIO(data)).metadata.values())
        return told + "\n".join(str(value) for row in table.to_pylist() for value in row.values())
    if form == "pdf":
        pages = pypdf.PdfReader(io.BytesIO(data)).pages
        return "\n".join(page.extract_text() for page in pages).replace("\n", " ")
    return data.decode("utf-8-sig")


def sheets(data: bytes) -> list[list[list[str]]]:
    """The texts and numbers of a workbook's cells, by sheet and row."""
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        names = sorted((name for name in book.namelist() if "/worksheets/sheet" in name), key=lambda n: (len(n), n))
        trees = [ElementTree.fromstring(book.read(name)) for name in names]
    return [
        [["".join(cell.itertext()) for cell in row.iter(f"{SHEET}c")] for row in tree.iter(f"{SHEET}row")]
        for tree in trees
    ]


# -- every form has the whole report


@cache
def whole(form: str) -> tuple[bytes, str]:
    """The small report, and what is read in it."""
    data = printed(small_report(), form)
    return data, shown(form, data)


@cache
def wrong(form: str) -> str:
    """What is read in a Russian report that has no checkpoint, and whose numbers don't agree."""
    report = replace(small_report(residual=-3), frame=replace(FRAME, checkpoint=None), charts=())
    return shown(form, printed(report, form, RU))


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_is_the_same_bytes_twice(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = whole(form)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")  # somebody else's build is nothing to us
    assert printed(small_report(), form) == first
    assert os.environ["SOURCE_DATE_EPOCH"] == "1"


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_has_its_whole_frame_and_every_table(form: str) -> None:
    _, text = whole(form)
    for said in (FRAME.title, FRAME.operator, FRAME.software, FRAME.definition, FRAME.zone, FRAME.filters[0]):
        assert said in text
    assert "ab" * 32 in text.replace(" ", "")
    assert FRAME.again in text
    assert str(FRAME.position) in text
    assert "Closed rounds only." in text
    assert "Иван Ж. A♠ K♥ Q♦ J♣" in text
    assert "Revenue (test accounts)" in text
    assert "No Activity" in text
    assert "Turnover = sum of wagers" in text


@pytest.mark.parametrize("form", ["text", "xlsx", "pdf"])
def test_a_person_is_told_the_period_by_his_clock(form: str) -> None:
    _, text = whole(form)
    assert "2026-11-01 00:00 +03:00 to 2026-12-01 00:00 +03:00, the end not included" in text
    assert "2026-12-01 08:10:36.123 +03:00" in text


@pytest.mark.parametrize("form", FORMATS)
def test_a_residual_is_shown_loudly(form: str) -> None:
    loud = {"json": '"residual":-3}', "parquet": '"residual":-3}', "csv": "-0.03,НЕ НОЛЬ"}
    assert loud.get(form, "−0,03 НЕ НОЛЬ") in wrong(form)
    _, right = whole(form)
    assert "NOT ZERO" not in right


@pytest.mark.parametrize("form", FORMATS)
def test_a_russian_report_is_russian(form: str) -> None:
    text = wrong(form)
    assert "Движения не было" in text
    if form in ("text", "xlsx", "pdf"):
        assert "Позиция журнала" in text
        assert "Operator" not in text


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_without_a_checkpoint_says_so(form: str) -> None:
    assert ('"checkpoint":null' if form in ("json", "parquet") else "для этой позиции нет") in wrong(form)


# -- text


def test_columns_of_text_stand_below_each_other() -> None:
    lines = printed(small_report(), "text").decode().splitlines()
    begin = lines.index("Closed rounds only.")
    head, first, second, rule, subtotal = lines[begin + 1 : begin + 6]
    assert head.index("Turnover") + len("Turnover") == first.index("1,234.50") + len("1,234.50")
    assert second.index("−0.05") + len("−0.05") == subtotal.index("1,234.45") + len("1,234.45")
    assert rule.startswith("----")


def test_what_steers_a_terminal_is_spelled_out() -> None:
    row = Row(("a\x1b[2Jb\u202ec\nd", 1, 1, None, None, None))
    text = printed(small_report(row), "text").decode()
    assert "a\\x1b[2Jb\\u202ec\\nd" in text
    assert "\x1b" not in text


# -- CSV


def test_a_csv_file_is_read_by_rows_of_their_kind() -> None:
    rows = list(csv.reader(io.StringIO(printed(small_report(), "csv").decode("utf-8-sig"), newline="")))
    assert [row[:2] for row in rows[:3]] == [["frame", "title"], ["frame", "operator"], ["frame", "software"]]
    table = [row for row in rows if row[1] == "revenue"]
    assert table == [
        ["section", "revenue", "EUR", "Revenue"],
        ["note", "revenue", "EUR", "Closed rounds only."],
        ["columns", "revenue", "EUR", "player", "rounds", "turnover", "hold", "at", "position"],
        ["detail", "revenue", "EUR", "Иван Ж. A♠ K♥ Q♦ J♣", "12345", "1234.50", "33.3333", ROWS[0].cells[4], "1234567"],
        ["detail", "revenue", "EUR", "'=1+1", "-1", "-0.05", "-12.5000", ROWS[1].cells[4], "7"],
        ["subtotal", "revenue", "EUR", "Subtotal", "12344", "1234.45", "", "", ""],
        ["total", "revenue", "EUR", "Total", "12344", "1234.45", "200.0000", "", ""],
    ]
    assert [row for row in rows if row[0] == "identity"] == [
        ["identity", "Turnover = sum of wagers", "EUR", "1234.45", "1234.45", "0.00"],
        ["identity", "Rounds = rounds", "", "5", "5", "0"],
    ]


def test_the_example_of_the_format_is_what_is_written() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats" / "report.md").read_text()
    data = printed(replace(small_report(), frame=replace(FRAME, operator="Casino «Метелица»")), "csv")
    assert f"```\n{data.decode('utf-8-sig')}```".replace("\r\n", "\n") in page


def test_a_csv_file_has_the_mark_by_which_a_spreadsheet_knows_cyrillic() -> None:
    data = printed(small_report(), "csv")
    assert data.startswith(b"\xef\xbb\xbfframe,title,")
    assert data.count(b"\r\n") == data.count(b"\n")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("\n=1", "'\n=1"),
        ("＝1+1", "'＝1+1"),
        ("＋1", "'＋1"),
        ("－1", "'－1"),
        ("＠x", "'＠x"),
        ("﹣1", "'﹣1"),
        ("  =1", "'  =1"),
        ("\ufeff=1", "'\ufeff=1"),
        ("'=1", "''=1"),
        ("a=1", "a=1"),
        ("", ""),
        ("  ", "  "),
        ("Иван", "Иван"),
    ],
)
def test_no_text_becomes_a_formula(text: str, written: str) -> None:
    assert harmless(text) == written


@given(st.text())
def test_a_text_in_a_csv_file_can_be_read_back(text: str) -> None:
    assert harmless(text).removeprefix("'") == text


# -- JSON


def test_json_has_minor_units_and_exact_ratios() -> None:
    report = json.loads(printed(small_report(), "json"))
    table = report["sections"][0]
    assert (table["currency"], table["exponent"]) == ("EUR", 2)
    assert table["rows"][0]["cells"][1:4] == [
        12345, 123450, {"numerator": 1, "denominator": 3, "percent": "33.3333"},
    ]  # fmt: skip
    assert [row["weight"] for row in table["rows"]] == ["detail", "detail", "subtotal", "total"]
    assert report["sections"][1]["nothing"] == "No Activity"
    assert report["identities"][0] == {
        "sentence": "Turnover = sum of wagers", "currency": "EUR", "left": 123445, "right": 123445, "residual": 0,
    }  # fmt: skip
    assert report["charts"][0]["name"] == "ggr"


# -- Parquet


def test_parquet_has_typed_columns_and_tells_the_rest_in_its_metadata() -> None:
    data = printed(small_report(), "parquet")
    first = pq.read_table(io.BytesIO(data)).to_pylist()[0]
    assert (first["section"], first["currency"], first["weight"], first["row"]) == ("revenue", "EUR", "detail", 1)
    assert (first["turnover"], first["hold"], first["position"]) == (123450, Decimal("33.3333"), 1234567)
    assert first["at"].isoformat() == "2026-11-01T05:10:36.123000+00:00"
    told = {name.decode(): json.loads(value) for name, value in pq.read_metadata(io.BytesIO(data)).metadata.items()}
    assert told["frame"]["again"] == FRAME.again
    assert [(each["name"], each["rows"]) for each in told["sections"]] == [("revenue", 4), ("revenue-test", 0)]
    assert told["identities"][1]["residual"] == 0


def test_a_number_beyond_64_bits_is_no_parquet() -> None:
    with pytest.raises(ReportError, match=r"--format parquet: table revenue: .*; take csv or json"):
        printed(small_report(Row(("a", 1, 2**63, None, None, None))), "parquet")


# -- XLSX


def test_a_spreadsheet_has_texts_as_texts_and_numbers_as_numbers() -> None:
    with zipfile.ZipFile(io.BytesIO(printed(small_report(), "xlsx"))) as book:
        tree = ElementTree.fromstring(book.read("xl/worksheets/sheet2.xml"))
    cells = {cell.get("r"): cell for cell in tree.iter(f"{SHEET}c")}
    assert (cells["A5"].get("t"), "".join(cells["A5"].itertext())) == ("inlineStr", "=1+1")
    assert (cells["C4"].get("t"), cells["C4"].findtext(f"{SHEET}v")) == (None, "1234.5")
    assert (cells["D5"].get("t"), cells["D5"].findtext(f"{SHEET}v")) == (None, "-0.125")
    assert not list(tree.iter(f"{SHEET}f")), "a formula"
    assert not list(tree.iter(f"{SHEET}hyperlink")), "a link"


@settings(max_examples=300)
@given(st.integers(-(10**15) + 1, 10**15 - 1), st.sampled_from([0, 2, 3]))
def test_fifteen_digits_are_shown_as_they_are(amount: int, places: int) -> None:
    """What a spreadsheet does: it reads the sixteen digits that are written, and shows fifteen of their double."""
    text = Decimal(amount).scaleb(-places)
    written = f"{float(str(text)):.16G}"
    assert Decimal(f"{float(written):.15G}") == text


def test_an_amount_of_more_digits_than_a_spreadsheet_keeps_is_a_text() -> None:
    data = printed(small_report(Row(("a", 1, 10**15 + 1, None, None, None))), "xlsx")
    assert "10,000,000,000,000.01" in shown("xlsx", data)


def test_a_text_that_a_cell_cannot_hold_is_refused() -> None:
    with pytest.raises(ReportError, match="--format xlsx: a cell takes 32,767 characters, not 32,768; take csv"):
        printed(small_report(Row(("x" * 32768, 1, 1, None, None, None))), "xlsx")


def test_what_xml_cannot_have_is_spelled_out() -> None:
    data = printed(small_report(Row(("a\x00b\x1fc\ufffed", 1, 1, None, None, None))), "xlsx")
    assert "a\\x00b\\x1fc\\ufffed" in shown("xlsx", data)


# -- PDF


def wide_report(columns: int, rows: int = 1) -> Report:
    """Rows of amounts, with a time and a round's id at their ends."""
    cells = (*[123456789] * columns, ROWS[0].cells[4], "018f6a3e7c117b2a9d0e2f6b1c9a4d55")
    titles = [Column(f"amount_{number}", "Returned to players", Kind.MONEY) for number in range(columns)]
    ends = (Column("at", "Time", Kind.TIME), Column("round", "Round", Kind.TEXT))
    return Report(FRAME, (Section("wide", "Wide", "EUR", (*titles, *ends), lambda: [Row(cells)] * rows),), list)


def test_a_wide_and_long_table_stands_on_paper_whole() -> None:
    """The last column ends before the margin; where columns overflow, it is the one that is gone."""
    pages = pypdf.PdfReader(io.BytesIO(printed(wide_report(18, rows=40), "pdf"))).pages
    ends = []

    def note(text: str, cm: Any, tm: Any, _: Any, size: float) -> None:
        if text.startswith("018f6a"):
            ends.append((tm[4] + 0.64 * size * len(text.strip())) * cm[0])

    texts = [page.extract_text(visitor_text=note) for page in pages]
    assert "".join(texts).count("1,234,567.89") == 18 * 40
    assert "".join(texts).replace("\n", "").count("018f6a3e7c117b2a9d0e2f6b1c9a4d55") == 40
    assert 0 < max(ends) < float(pages[1].mediabox.width) - 30
    assert len(texts) >= 3
    for number, text in enumerate(texts, 1):
        assert f"page {number} of {len(texts)}" in text
        assert number == 1 or "Round" in text, "headings on every page of the table"


def test_a_table_too_wide_for_paper_is_refused() -> None:
    with pytest.raises(ReportError, match="--format pdf: table wide is too wide for paper; take xlsx, csv or parquet"):
        printed(wide_report(40), "pdf")


def test_a_pdf_of_too_many_cells_is_refused_before_it_is_laid_out() -> None:
    report = long_report(10**9)
    with pytest.raises(ReportError, match="pdf: more than 30,000 cells, too long for paper; take csv or parquet"):
        printed(replace(report, sections=(small_report().sections[0], *report.sections)), "pdf")


def test_a_pdf_loads_nothing_from_elsewhere() -> None:
    with pytest.raises(FatalURLFetchingError):
        weasyprint.HTML(string="<img src='http://127.0.0.1:1/a.png'>", url_fetcher=pdf.LoadNothing()).render()


def test_a_pdf_has_the_letters_of_a_chart_as_letters() -> None:
    _, text = whole("pdf")
    assert "День" in text
    assert "GGR by day" in text


# -- charts


def test_a_chart_is_an_svg_file_that_is_the_same_twice(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        write_chart(CHART, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert ElementTree.parse(tmp_path / "a.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"


# -- files: whole or not there


@pytest.mark.parametrize("most", [300, 5_000])
def test_a_full_disk_says_nothing_but_the_error(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A workbook and its zip file don't try once more, and fail once more, when they are collected."""
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    with room_for(most), pytest.raises(OSError, match="File too large"):
        write_file(small_report(), "xlsx", tmp_path / "report", EN)
    gc.collect()
    assert ignored == []



@contextmanager
def room_for(most: int) -> Iterator[None]:
    """A disk on which a file has no more room than this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("form", FORMATS)
def test_a_full_disk_leaves_what_stood_there_and_nothing_else(form: str, tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text("the old one")
    writer(form)  # its packages may write what they like
    with room_for(300), pytest.raises(OSError):
        write_file(Report(FRAME, (), list), form, path, EN)
    assert path.read_text() == "the old one"
    assert os.listdir(tmp_path) == ["report"]


@pytest.mark.parametrize("form", FORMATS)
def test_a_report_that_fails_halfway_leaves_no_file(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows() -> Iterator[Row]:
        yield ROWS[0]
        raise ReportError("the store has gone")

    report = small_report()
    broken = replace(report, sections=(replace(report.sections[0], rows=rows),))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    with pytest.raises(ReportError, match="the store has gone"):
        write_file(broken, form, tmp_path / "report", EN)
    assert (os.listdir(tmp_path), os.listdir(scratch)) == (["scratch"], [])


def test_a_package_that_is_missing_is_named_with_what_to_install() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from ops.reports.render import writer\n"
        "writer('csv'), writer('json'), writer('text')\n"
        "try: writer('parquet')\n"
        "except ValueError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "--format parquet: needs the package pyarrow: pip install 'dealproof[reports]'\n"


# -- memory


@pytest.mark.long
@pytest.mark.parametrize("form", ["text", "csv", "json", "xlsx", "parquet"])
def test_a_long_report_takes_no_more_memory_than_a_short_one(form: str, tmp_path: Path) -> None:
    write_file(long_report(20_000), form, tmp_path / "warm", EN)
    short, long = (peak(form, rows, tmp_path / str(rows)) for rows in (20_000, 120_000))
    assert long < short + 2_000_000


def peak(form: str, rows: int, path: Path) -> int:
    """Bytes that Python held at most; pyarrow's own are counted apart, by its pool."""
    tracemalloc.start()
    try:
        write_file(long_report(rows), form, path, EN)
        return tracemalloc.get_traced_memory()[1] + arrow_peak(form)
    finally:
        tracemalloc.stop()


def arrow_peak(form: str) -> int:
    if form != "parquet":
        return 0
    import pyarrow

    most: Any = pyarrow.default_memory_pool().max_memory()
    return int(most)
