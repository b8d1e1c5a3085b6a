"""`report.html` as a browser shows it: no errors, and what people click works."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forkrun.monitoring.comparison.compare import compare, read_run
from forkrun.monitoring.comparison.faces import comparison_page
from forkrun.monitoring.report.write import write_report
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import NodeRanges

from .conftest import CONFIG, T0, ledgers, plan, sample_line, timeline_lines, unit_line, write_lines

webdriver = pytest.importorskip("selenium.webdriver")
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
axe = pytest.importorskip("axe_core_python")

WriteRun = Callable[..., Path]

pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="the page is opened with Chromium (Debian: apt install chromium chromium-driver)",
)

_PICTURES = [
    {
        "name": "plots/mass", "title": "mass", "values": [1, 4, 2.5], "entries": 7.5,
        "axes": [{"title": "m [GeV]", "edges": [0, 1, 2, 3], "labels": []}], "is_profile": False,
    },
    {
        "name": "plots/map", "title": "", "values": [[1, 0], [2, 3]], "entries": 6,
        "axes": [{"title": "x", "edges": [0, 1, 2], "labels": []},
                 {"title": "y", "edges": [0, 1, 2], "labels": ["a", "b"]}], "is_profile": False,
    },
]  # fmt: skip


class Page:
    """An open page; `select` finds elements by CSS, and there has to be one at least."""

    def __init__(self, browser: Any, run: Path) -> None:
        self.browser = browser
        browser.get((run / "report.html").as_uri())
        assert self.run("document.documentElement.dataset.ready") == "yes"

    def run(self, expression: str, *arguments: Any) -> Any:
        return self.browser.execute_script(f"return {expression}", *arguments)

    def select(self, css: str) -> list[Any]:
        found = self.browser.find_elements("css selector", css)
        assert found, css
        return list(found)

    def texts(self, css: str) -> list[str]:
        return [each.text for each in self.select(css)]

    def click(self, element: Any) -> None:
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def errors(self) -> list[Any]:
        return [line for line in self.browser.get_log("browser") if line["level"] == "SEVERE"]

    def rows(self, caption: str) -> list[list[str]]:
        """Texts of the body of a table."""
        texts: list[str] = self.run(
            "[...[...document.querySelectorAll('table')].find(t => t.caption.textContent ==="
            " arguments[0]).tBodies[0].rows].map(row => row.innerText)",
            caption,
        )
        return [text.split() for text in texts]


def reported(write_run: WriteRun, **parts: Any) -> Path:
    run = write_run(**parts)
    (run / "output").mkdir(exist_ok=True)
    (run / "output" / "histograms.root").touch()
    (run / "monitoring" / "histograms.json").write_text(json.dumps(_PICTURES))
    write_report(run, plots=False)
    return run


@pytest.mark.slow
def test_a_finished_job_is_shown_whole(browser: Any, write_run: WriteRun) -> None:
    page = Page(browser, reported(write_run))
    assert page.errors() == []
    assert page.texts("nav a") == [
        "Overview", "Memory", "Activity", "Phases", "Children", "Outputs", "Histograms",
        "Job", "Words",
    ]  # fmt: skip
    assert page.texts(".outcome") == ["done and verified"]
    assert page.texts("#overview dd")[0].startswith("20.00 s by the clock · 6 threads for 20.00 s")
    assert len(page.texts("#overview ol li")) == 3
    assert page.texts("#overview ol li")[0].endswith("saves up to 3.25 s of 20.00 s")
    assert "600" in page.texts(".tile b")
    assert page.texts(".sharing > div:not(.stack)") == [
        "Without forking: 419 MB",
        "This job at its peak: 168 MB",
        "The same, enlarged: 83.9 MB shared, 83.9 MB private",
    ]
    widths = page.run(
        "[...document.querySelectorAll('.stack:nth-of-type(6) span')].map(e => e.style.width)"
    )
    assert widths == ["50%", *["12.5%"] * 4]
    links = page.run("[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash.slice(1))")
    assert [
        name for name in links if not page.run("document.getElementById(arguments[0])", name)
    ] == []
    shapes = page.run("[...document.querySelectorAll('path')].map(p => p.getAttribute('d'))")
    assert [shape for shape in shapes if "NaN" in shape] == []


def measured(run: Path) -> Path:
    """With what children 0 and 1 leave of their calls, columns and threads."""
    cost = {
        "read_calls": 3, "read_bytes": 6000, "read_s": 0.5, "packed_bytes": 5000,
        "unpacked_bytes": 10_000, "unpack_s": 0.25, "shared_s": 0.0,
    }  # fmt: skip
    column = {
        "label": "Jet_pt", "kind": "source column", "concurrency": "unsafe", "inputs": [],
        "count": 6, "total_s": 1.0, "cpu_s": 0.4, "wait_inputs_s": 0, "wait_queue_s": 0,
        "max_s": 0.5, "bins": [[0.1, 6]],
    }  # fmt: skip
    module = {**column, "label": "jets", "kind": "filter", "inputs": ["Jet_pt"], "total_s": 8.0}
    for child in (0, 1):
        part = {
            "modules": [{**column, "input": cost}, module], "stalls": [], "n_not_traced": 0,
            "loading": {**cost, "count": 6, "total_s": 1.0}, "asked": {"jets": []},
            "spent": {"reading_s": 1.0, "unpacking_s": 1.0, "processing_s": 8.0,
                      "committing_s": 2.0, "ahead_s": 0.0, "thread_s": 27.0},
            "n_events": 200, "cpu_s": 6.0, "wall_s": 13.5,
        }  # fmt: skip
        (run / f"monitoring/timing-00{child}.json").write_text(json.dumps(part))
        half, none = [500_000] * 13, [0] * 13
        threads = [
            {"name": "thread 0", "reading": half, "unpacking": none, "processing": half,
             "committing": none},
            {"name": "thread 1", "reading": none, "unpacking": none, "processing": none,
             "committing": half},
        ]  # fmt: skip
        course = {"child": child, "clock_s": 0, "start_s": T0 + 2, "piece_s": 1.0}
        text = json.dumps({**course, "threads": threads})
        (run / f"monitoring/course-00{child}.json").write_text(text)
    return run


@pytest.mark.slow
def test_what_threads_did_and_what_columns_took_is_shown(browser: Any, write_run: WriteRun) -> None:
    page = Page(browser, reported(lambda: measured(write_run())))
    spent = {row[0]: row[1:3] for row in page.rows("What the children's threads did")}
    assert spent["processing"] == ["16", "s"]
    assert spent["waiting"] == ["30", "s"]  # of two processes with two threads for 13.5 s
    rows = page.rows("Columns that were read")
    assert rows[0] == [
        "common", "to", "columns", "12", "6", "12.0", "kB", "20.0", "kB", "2.00", "1", "s", "500",
        "ms", "500", "ms", "2", "s", "50.0", "%",
    ]  # fmt: skip
    assert "Jet_pt is read by nobody" in page.texts("#remarks li")[-1]
    (choice,) = page.select("#colours")
    choice.send_keys("what threads did")
    assert page.run("document.getElementById('colours').value") == "kind"
    fills = page.run(
        "[...document.querySelectorAll('#activity path')].map(p => p.attributes.fill.value)"
    )
    assert len(fills) == 3  # reading, processing, committing
    assert "white: waiting" in page.texts("#activity .keys li")
    area = page.select("#activity svg")[0]
    moves = webdriver.ActionChains(browser)
    moves.move_to_element_with_offset(area, -200, -38).perform()
    assert "reading 50 %, unpacking 0 %, processing 50 %" in page.texts(".tip")[0]
    links = page.run("[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash.slice(1))")
    assert [
        name for name in links if not page.run("document.getElementById(arguments[0])", name)
    ] == []
    assert page.errors() == []


def test_the_page_says_why_the_last_child_was_late(browser: Any, write_run: WriteRun) -> None:
    page = Page(browser, reported(write_run))
    (note,) = (text for text in page.texts("#activity .note") if "ended last" in text)
    assert (
        "Child 0 ended last, 7 s after the first: its last 100 events, committed together, took"
        in note
    )
    assert "its events took longer, 17 events/s against 27 of the others" in note
    ledger = {0: [unit_line(0, 0, 2, 8)], 1: [unit_line(1, 1, 9, 14)]}
    page = Page(browser, reported(write_run, ledger=ledger))
    (note,) = (text for text in page.texts("#activity .note") if "ended last" in text)
    assert "it began 7.00 s after the first to begin" in note


def test_a_resumed_job_is_shown_with_its_sessions(browser: Any, write_run: WriteRun) -> None:
    resumed = {"time_s": T0 + 40, "event": "job_start", "child": None, "pid": 300}
    last = {"time_s": T0 + 60, "event": "job_end", "child": None, "pid": 300, "outcome": "ok"}
    ledger = ledgers()
    ledger[2][1] = unit_line(5, 2, 45, 48)
    timeline = [*timeline_lines(), resumed, last]
    page = Page(browser, reported(write_run, ledger=ledger, timeline=timeline))
    assert [row[:4] for row in page.rows("Sessions")] == [
        ["0", "s", "20", "s"],
        ["40", "s", "20", "s"],
    ]
    assert "for 20 s none ran" in page.texts("#sessions .note")[0]
    assert "resumed" in page.texts("#activity svg text")
    assert page.errors() == []


def test_tables_sort_and_filter(browser: Any, write_run: WriteRun) -> None:
    many = {c: [unit_line(c, c, 2, 3 + (7 * c) % 50, n_events=c + 1)] for c in range(20)}
    page = Page(browser, reported(write_run, ledger=many))
    events = page.select("#children thead th")[3]
    (button,) = events.find_elements("css selector", "button")
    page.click(button)
    assert page.rows("Children")[0][0] == "19"
    assert events.get_attribute("aria-sort") == "descending"
    button.send_keys(Keys.ENTER)
    assert page.rows("Children")[0][0] == "0"
    (search,) = page.select("#children input[type=search]")
    search.send_keys("exit code")
    assert sorted(row[0] for row in page.rows("Children")) == ["0", "1", "2"]


@pytest.mark.slow
def test_charts_zoom_together_by_keyboard_and_by_buttons(browser: Any, write_run: WriteRun) -> None:
    page = Page(browser, reported(write_run))

    def times(section: str) -> list[str]:
        return page.texts(f"#{section} svg text[text-anchor=middle]")

    whole = times("memory")
    page.select("#activity svg")[0].send_keys("+")
    assert times("memory") != whole
    assert times("memory") == times("activity")
    page.select("#activity svg")[0].send_keys(Keys.HOME)
    assert times("activity") == whole
    page.click(page.select("#memory button[aria-label='Zoom in']")[0])
    assert times("activity") != whole
    page.click(page.select("#memory button[aria-label='Show the whole job']")[0])
    assert times("activity") == whole


def test_dragging_over_a_stretch_zooms_into_it(browser: Any, write_run: WriteRun) -> None:
    page = Page(browser, reported(write_run))
    chart = page.select("#activity svg")[0]
    moves = webdriver.ActionChains(browser)
    moves.move_to_element_with_offset(chart, -200, 0).click_and_hold().move_by_offset(150, 0)
    moves.release().perform()
    shown = [float(text) for text in page.texts("#memory svg text[text-anchor=middle]")[:-1]]
    assert 4 < shown[0] < shown[-1] < 11


def test_a_histogram_is_enlarged_by_a_click(browser: Any, write_run: WriteRun) -> None:
    page = Page(browser, reported(write_run))
    assert page.texts(".pictures button") == ["plots/mass", "plots/map"]
    page.click(page.select(".pictures button")[1])
    assert page.select("dialog[open] h3")[0].text == "plots/map"
    page.click(page.select("dialog button")[0])
    assert not page.browser.find_elements("css selector", "dialog[open]")
    assert page.errors() == []


@pytest.mark.slow
def test_a_failed_job_says_what_failed_first(browser: Any, write_run: WriteRun) -> None:
    died = {
        "time_s": T0 + 9, "event": "child_exit", "child": 1, "pid": 101, "exit_code": -9,
        "status": "killed by SIGKILL", "failed": True,
    }  # fmt: skip
    ledger = {**ledgers(), 1: ledgers()[1][:1]}
    page = Page(browser, reported(write_run, ledger=ledger, timeline=[*timeline_lines()[:6], died]))
    assert page.texts(".outcome.failed") == ["failed"]
    assert "killed by SIGKILL" in page.texts("header .problem")[0]
    assert "✗ 1" in page.texts("#activity svg text")
    assert page.errors() == []


def test_a_job_without_outputs_samples_or_commits_has_a_page(
    browser: Any, write_run: WriteRun
) -> None:
    run = write_run(ledger={}, timeline=timeline_lines()[:1])
    (run / "monitoring" / "samples.jsonl").unlink()
    write_report(run, plots=False)
    page = Page(browser, run)
    assert page.errors() == []
    assert page.texts(".outcome") == ["unfinished"]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_hard_to_read_or_to_reach(
    browser: Any, write_run: WriteRun, scheme: str
) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page = Page(browser, reported(write_run))
    browser.execute_script((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    assert [each["id"] for each in found["violations"]] == []
    assert page.errors() == []


def wide_job(write_run: WriteRun) -> Path:
    """Eight children, one of which died, forty modules and a hundred columns with long names."""
    ledger = {c: [unit_line(c, c, 2, 12 + c % 3)] for c in range(8)}
    died = {"time_s": T0 + 9, "event": "recovery", "child": 3, "pid": 99, "unit": 3,
            "text": "child 3 died (killed by signal 9): " + "/a/long/path" * 20}  # fmt: skip
    timeline = [*timeline_lines(), died]
    timeline[-2] |= {"outcome": "module failed at " + "x" * 300, "help": ["y" * 300]}
    run = measured(write_run(ledger=ledger, timeline=timeline))
    for file in (run / "monitoring").glob("timing-*.json"):
        part = json.loads(file.read_text())
        column, jets = part["modules"]
        part["modules"] = [
            *({**column, "label": f"A_long_name_of_a_column_{n}"} for n in range(100)),
            *({**jets, "label": f"a_long_name_of_a_module_{n}"} for n in range(40)),
        ]
        file.write_text(json.dumps(part))
    return reported(lambda: run)


TOO_WIDE = (
    "[...document.querySelectorAll('#children .rows, #modules .rows')]"
    ".filter(e => e.scrollWidth > e.clientWidth + 1 && [...e.querySelectorAll('th')]"
    ".filter(h => h.offsetWidth).length).map(e => e.scrollWidth)"
)
"""Large tables that are scrolled sideways."""


@pytest.mark.slow
def test_a_page_of_any_width_is_scrolled_downwards_alone(browser: Any, write_run: WriteRun) -> None:
    run = wide_job(write_run)
    try:
        for width in (360, 560, 768, 1400, 2560):
            metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            page = Page(browser, run)
            assert page.run("document.documentElement.scrollWidth") <= width
            outside = (
                "[...document.querySelectorAll('nav a, h1, h2, .tile, .outcome, svg .mark + text')]"
                ".filter(e => { const box = e.getBoundingClientRect();"
                " return box.left < 0 || box.right > innerWidth; }).map(e => e.textContent)"
            )
            assert page.run(outside) == []
            shown = page.run(
                "[...document.querySelectorAll('#children thead th')]"
                ".filter(e => e.getBoundingClientRect().width > 0).length"
            )
            assert shown == 13 if width >= 1400 else 2 < shown < 13
            assert width < 768 or page.run(TOO_WIDE) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_columns_are_chosen_by_keyboard(browser: Any, write_run: WriteRun) -> None:
    metrics = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page = Page(browser, reported(write_run))
        assert "first event" not in page.texts("#children thead th button")
        page.select("#children .choose summary")[0].send_keys(Keys.ENTER)
        (box,) = (
            label for label in page.select("#children .choose label") if label.text == "first event"
        )
        box.find_element("css selector", "input").send_keys(Keys.SPACE)
        assert "first event" in page.texts("#children thead th button")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_paper_has_all_columns_and_colours_and_no_glossary(
    browser: Any, write_run: WriteRun
) -> None:
    run = wide_job(write_run)
    metrics = {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False}  # A4
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page = Page(browser, run)
        dark = [{"name": "prefers-color-scheme", "value": "dark"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
        for part in ("nav", "#words", ".controls", ".choose"):
            assert page.run(
                "getComputedStyle(document.querySelector(arguments[0])).display", part
            ) == ("none")
        tables = page.run(
            "[...document.querySelectorAll('table')].map(t => [t.caption.textContent,"
            " t.getBoundingClientRect().right, [...t.tHead.rows[0].cells]"
            ".filter(e => e.getBoundingClientRect().width === 0).length])"
        )
        assert [each for each in tables if each[1] > 718 or each[2] > 0] == []
        assert page.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        exact = "getComputedStyle(document.querySelector('.bar')).printColorAdjust"
        assert page.run(exact) == "exact"
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        light = [{"name": "prefers-color-scheme", "value": "light"}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": light})


@pytest.mark.slow
def test_no_heading_is_read_twice(browser: Any, write_run: WriteRun) -> None:
    page = Page(browser, reported(lambda: measured(write_run())))
    seen = page.run(
        "[...document.querySelectorAll('h2, h3, caption:not(.unseen)')].map(e => e.textContent)"
    )
    assert len(seen) == len(set(seen))


@pytest.mark.slow
def test_a_thousand_nodes_are_shown_at_once(browser: Any, write_run: WriteRun) -> None:
    run = write_run(ledger={})
    (run / "config.json").write_text(json.dumps({**CONFIG, "forking": {"children": 2}}))
    (run / "plan.json").write_text(json.dumps({**plan(), "children": 2}))
    folder = RunDirectory(run)
    folder.batch.mkdir()
    folder.fingerprint.write_text("{}")
    NodeRanges(tuple(range(0, 2002, 2)), (200,) * 1000, 2).write(folder)
    for n in range(1000):
        for child in (0, 1):
            line = unit_line(child, child, 2 + n % 9, 12 + n % 7)
            write_lines(folder.node(n).ledger / f"child-{child:03d}.jsonl", [line])
    write_report(run)
    page = Page(browser, run)
    assert page.errors() == []
    assert len(page.rows("Nodes")) == 200
    page.click(page.select("#nodes .note button")[0])
    rows = page.rows("Nodes")
    assert len(rows) == 1000
    assert rows[-1][:3] == ["999", "2", "200"]


@pytest.mark.long
def test_many_samples_of_many_children_are_a_small_page(browser: Any, write_run: WriteRun) -> None:
    run = write_run(samples=[sample_line(n, None, 50, 80, 33) for n in range(1, 20)])
    with (run / "monitoring" / "samples.jsonl").open("a") as file:
        for child in range(32):
            line = json.dumps(sample_line(0, child, 20, 80, 33, complete=False))
            begin, end = line.split(f"{T0}")
            file.writelines(f"{begin}{T0 + 2 + n * 5e-4}{end}\n" for n in range(20_000))
    reported(lambda: run)
    assert (run / "report.html").stat().st_size < 8_000_000
    page = Page(browser, run)
    assert page.errors() == []
    assert len(page.select("#memory svg path.area")) == 5  # shared, parent and three bands


def test_runs_are_shown_side_by_side(browser: Any, write_run: WriteRun, tmp_path: Path) -> None:
    first = reported(write_run).rename(tmp_path / "first")
    second = write_run(ledger={c: [unit_line(c, c, 2, 9)] for c in range(3)})
    (second / "config.json").write_text(json.dumps({**CONFIG, "job": {"name": "other"}}))
    write_report(second, plots=False)
    columns = compare([read_run(first), read_run(second)])
    (tmp_path / "report.html").write_text(comparison_page(columns), encoding="utf-8")
    page = Page(browser, tmp_path)
    assert page.errors() == []
    rates = [row for row in page.rows("Figures") if row[:2] == ["events", "of"]]
    assert rates == [["events", "of", "the", "whole", "job", "30", "/s", "15", "/s", "0.50", "×"]]
