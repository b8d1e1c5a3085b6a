"""One table, and what text, notebooks and pages make of it."""

from __future__ import annotations

import re
from pathlib import Path

from forkrun.monitoring import tables as module
from forkrun.monitoring.tables import FORMS, Column, Table

COLUMNS = (
    Column("name", "name"), Column("n", "events", "count", whole="n_all"),
    Column("time.s", "time", "time", bar=True), Column("part", "part", "share", 1),
    Column("none", "none", "size", 2), Column("failed", "failed", "text", 2, bad="failed"),
)  # fmt: skip
ROWS = [
    {"name": "a", "n": 1200, "n_all": 1200, "time": {"s": 2}, "part": 0.5, "none": None,
     "failed": ""},
    {"name": "long", "n": 7, "n_all": 10, "time": None, "part": None, "none": None,
     "failed": "yes"},
]  # fmt: skip
TABLE = Table("Some", COLUMNS, ROWS)


def test_a_text_has_aligned_columns_but_those_without_any_value() -> None:
    assert TABLE.text().splitlines() == [
        "  name   events            time    part  failed",
        "  a       1,200  2 s ██████████  50.0 %",
        "  long  7 of 10               -       -     yes",
    ]


def test_details_are_left_out_where_there_is_no_room_the_highest_first() -> None:
    heads = [TABLE.text(width, "").splitlines()[0].split() for width in (45, 44, 36, 10)]
    assert heads[0] == ["name", "events", "time", "part", "failed"]
    assert heads[1] == heads[0][:4]
    assert heads[2] == heads[3] == heads[0][:3]


def test_a_text_of_few_rows_has_those_with_bad_news_and_says_how_many_are_left() -> None:
    text = Table("Some", COLUMNS, [*ROWS[:1] * 5, ROWS[1]], most=2).text()
    assert [line.split()[0] for line in text.splitlines()] == ["name", "a", "long", "…"]
    assert text.endswith("  … 4 more in report.json")


def test_a_notebook_has_the_same_cells_escaped() -> None:
    html = Table.of("", ("x<", "y:ratio"), [("a&b", 0.5)]).html()
    assert html == (
        "<table><tr><th>x&lt;</th><th>y</th></tr><tr><td>a&amp;b</td><td>0.50</td></tr></table>"
    )


def test_a_page_gets_values_pairs_and_where_bad_news_are() -> None:
    page = TABLE.to_page()
    assert [column["key"] for column in page["columns"]] == [
        "name", "n", "time.s", "part", "failed",
    ]  # fmt: skip
    assert page["rows"] == [
        ["a", [1200, 1200], 2, 0.5, ""],
        ["long", [7, 10], None, None, "yes"],
    ]
    assert page["bad"] == [(1, 4)]


def test_pages_know_all_forms_but_those_of_studies() -> None:
    folder = Path(module.__file__ or "").parent
    script = (folder / "report/page/tables.js").read_text(encoding="utf-8")
    block = script[script.index("const FORMS") : script.index("const isText")]
    known = set(re.findall(r"\b(\w+)(?=[:,])", block))
    assert set(FORMS) - known == {"megabytes", "fraction"}
