"""What is in `report.html`, without a browser."""

from __future__ import annotations

import ast
import html
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from forkrun.monitoring.comparison import faces
from forkrun.monitoring.comparison.compare import FIGURES
from forkrun.monitoring.records import read_records
from forkrun.monitoring.report import tables
from forkrun.monitoring.report.page.series import activity_rows
from forkrun.monitoring.report.page.write import WORDS
from forkrun.monitoring.report.sections import _figures
from forkrun.monitoring.report.write import write_report
from forkrun.monitoring.tables import FORMS

from .conftest import CONFIG, T0, ledgers, timeline_lines, unit_line

_CHILDREN = ("child 0", "child 1", "child 2")
WriteRun = Callable[..., Path]


def content_of(run: Path) -> dict[str, Any]:
    page = (run / "report.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="content">(.*?)</script>', page, re.S)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


def test_the_page_has_the_report_and_what_happened_when(write_run: WriteRun) -> None:
    run = write_run()
    report = write_report(run, plots=False)
    content = content_of(run)
    assert content["report"] == json.loads(json.dumps(report))
    assert content["end_s"] == 20
    assert [bar["what"] for bar in content["parent"]] == [
        "index and plan", "modules and conditions", "fork", "merge",
    ]  # fmt: skip
    assert (content["parent"][-1]["start_s"], content["parent"][-1]["end_s"]) == (16, 19)
    bars = {row["child"]: [bar[:4] for bar in row["bars"]] for row in content["activity"]}
    assert bars[0] == [[2, 8, 1, 1], [9, 15, 1, 4]]
    at_peak = content["memory"]["time_s"].index(10)
    layers = {each["name"]: each["values"][at_peak] for each in content["memory"]["layers"]}
    assert layers == {
        "shared": round(80 * 1048.576),
        **{f"{name}, private": round(20 * 1048.576) for name in ("parent", *_CHILDREN)},
    }


def test_without_scripts_there_are_all_numbers_and_a_picture(write_run: WriteRun) -> None:
    run = write_run()
    write_report(run, plots=False)
    page = (run / "report.html").read_text(encoding="utf-8")
    (static,) = re.findall(r"<noscript>(.*)</noscript>", page, re.S)
    (text,) = re.findall(r"<pre>(.*)</pre>", static, re.S)
    assert html.unescape(text) == (run / "report.txt").read_text(encoding="utf-8")
    picture = ElementTree.fromstring(static[static.index("<svg") : static.index("</svg>") + 6])
    texts = [each.text for each in picture.iter("text")]
    assert texts[:4] == ["parent", "child 0", "child 1", "child 2"]
    bars = [str(each.get("d")) for each in picture.iter("path")][1]
    # Child 0 worked from 2 to 8 and from 9 to 15 of 20 s, which are 940 wide.
    assert bars == "M154.0,13h282.0v10h-282.0ZM483.0,13h282.0v10h-282.0Z"
    assert "up to 419 MB" in str(texts[-1])  # 400 MiB of RSS


def test_nothing_is_loaded_from_elsewhere(write_run: WriteRun) -> None:
    run = write_run()
    write_report(run, plots=False)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(
        r"<(link(?! rel=\"icon\")|img|iframe)|\bsrc=|@import|fetch\(|url\((?!#)", page
    )
    assert len(page) < 400_000


def test_names_of_the_job_are_text_not_markup(write_run: WriteRun) -> None:
    name = "</script><script>alert(1)</script>{{style}}"
    run = write_run()
    (run / "config.json").write_text(json.dumps({**CONFIG, "job": {"name": name}}))
    write_report(run, plots=False)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "alert(1)</script>" not in page
    assert page.count("<style>") == 1
    assert content_of(run)["report"]["job"]["name"] == name


def test_all_sessions_of_a_resumed_job_are_shown_with_the_gap(write_run: WriteRun) -> None:
    resumed = {"time_s": T0 + 40, "event": "job_start", "child": None, "pid": 300}
    last = {"time_s": T0 + 60, "event": "job_end", "child": None, "pid": 300, "outcome": "ok"}
    ledger = ledgers()
    ledger[2][1] = unit_line(5, 2, 45, 48)
    run = write_run(ledger=ledger, timeline=[*timeline_lines(), resumed, last])
    write_report(run, plots=False)
    content = content_of(run)
    assert content["sessions_s"] == [0, 40]
    assert content["end_s"] == 60
    assert [bar[:2] for bar in content["activity"][2]["bars"]] == [[2, 5], [45, 48]]


@pytest.mark.slow
def test_bars_that_could_not_be_seen_apart_are_joined_and_no_event_is_lost(
    write_run: WriteRun,
) -> None:
    many = [unit_line(n, 0, 2 + n * 1e-4, 2 + (n + 0.9) * 1e-4) for n in range(60_000)]
    run = write_run(ledger={0: many})
    (row,) = activity_rows(read_records(run), T0)
    assert len(row["bars"]) < 40_000
    assert sum(bar.n_events for bar in row["bars"]) == 6_000_000
    assert sum(bar.n for bar in row["bars"]) == 60_000
    assert (row["bars"][0].start_s, row["bars"][-1].end_s) == (2, round(2 + 59_999.9 * 1e-4, 5))


def figures_named(module: ModuleType) -> Iterator[str]:
    """What explains each column of the tables that are made there."""
    for call in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Column"):
            given = {str(n): value for n, value in enumerate(call.args)}
            given |= {each.arg or "": each.value for each in call.keywords}
            term = given.get("word", given.get("4", given["1"]))
            if isinstance(term, ast.Constant):
                yield str(term.value)


def test_every_number_of_the_page_is_explained_one_click_away(write_run: WriteRun) -> None:
    folder = Path(sys.modules[write_report.__module__].__file__ or "").parent
    scripts = "".join(file.read_text(encoding="utf-8") for file in folder.glob("page/*.js"))
    asked = {
        *re.findall(r'\bword\("([^"]+)"', scripts),
        *figures_named(tables),
        *figures_named(faces),
    }
    assert len(asked) > 60
    assert asked - set(WORDS) == set()
    written = re.search(r"const FORMS = {(.*?)};", scripts, re.DOTALL)
    assert written
    forms = re.findall(r'Column\([^()]*?, "(\w+)"[,)]', inspect.getsource(tables))
    assert set(forms) & set(FORMS) - set(re.findall(r"(\w+)[:,] ?", written[1])) == set()
    tiles = [fact.name for fact in _figures(write_report(write_run()))]
    assert set(tiles) - set(WORDS) == set()
    assert {figure.word for figure in FIGURES.values()} <= set(WORDS)


def test_a_job_loads_neither_matplotlib_nor_a_template_engine_for_its_page(
    write_run: WriteRun,
) -> None:
    run = write_run()
    code = (
        "import sys; from pathlib import Path\n"
        "from forkrun.monitoring.report.write import write_report\n"
        f"write_report(Path({str(run)!r}), plots=False)\n"
        "print([name for name in ('matplotlib', 'jinja2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_job_that_did_not_get_far_has_a_page_too(write_run: WriteRun) -> None:
    run = write_run(ledger={}, timeline=timeline_lines()[:1])
    (run / "plan.json").unlink()
    (run / "monitoring" / "samples.jsonl").unlink()
    write_report(run, plots=False)
    content = content_of(run)
    assert content["memory"] is None
    assert content["activity"] == content["parent"] == content["histograms"] == []
    assert content["report"]["job"]["outcome"] == "unfinished"
