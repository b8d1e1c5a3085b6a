"""`forkrun compare`: figures of runs side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forkrun.cli import main
from forkrun.monitoring.comparison.compare import compare, read_run
from forkrun.monitoring.report.write import write_report

from .conftest import CONFIG

WriteRun = Callable[..., Path]


@pytest.fixture
def make_run(write_run: WriteRun, tmp_path: Path) -> Callable[..., Path]:
    """Writes a run with a report, some values of which are replaced."""

    def make(name: str, rate: float, *, job: str = "dimuon", digest: str | None = None) -> Path:
        written = write_run()
        (written / "config.json").write_text(json.dumps({**CONFIG, "job": {"name": job}}))
        report = write_report(written, plots=False)
        report["totals"]["rate_events_per_s"] = rate
        if digest is not None:
            report["events"]["outputs"][0]["digest_merged"] = digest
        (written / "report.json").write_text(json.dumps(report))
        return written.rename(tmp_path / name)

    return make


def test_repeats_are_one_column_with_their_median_and_noise(make_run: Callable[..., Path]) -> None:
    runs = [make_run("a", 100), make_run("b", 400, job="other"), make_run("c", 120)]
    runs.append(make_run("d", 110))
    first, second = compare([read_run(path) for path in runs])
    assert [Path(run.name).name for run in first.runs] == ["a", "c", "d"]
    rate = first.figures["rate"]
    assert (rate.value, rate.low, rate.high, rate.ratio) == (110, 100, 120, 1)
    assert rate.noise == pytest.approx(20 / 110)
    assert second.figures["rate"].ratio == pytest.approx(400 / 110)
    assert second.figures["rate"].noise is None
    assert second.figures["memory"].ratio == 1
    assert second.same_outputs == {"events": True}


def test_a_difference_is_marked_where_no_repeat_is_among_the_others(
    make_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    rates = {"a": (100, 120, 110), "b": (118, 125, 130), "c": (121, 125, 130), "d": (90,)}
    runs = [
        make_run(f"{job}{n}", rate, job=job)
        for job, each in rates.items()
        for n, rate in enumerate(each)
    ]
    columns = compare([read_run(path) for path in runs])
    found = [column.figures["rate"].is_beyond_noise for column in columns]
    assert found == [False, False, True, None]
    assert main(["compare", *map(str, runs)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" · ")[1] for line in lines if " to [1] " in line] == [
        "rate 1.14 ×, within the noise", "rate 1.14 ×, beyond the noise", "rate 0.82 ×",
    ]  # fmt: skip
    assert all("outputs the same" in line for line in lines if " to [1] " in line)
    (rate,) = (line for line in lines if line.strip().startswith("events of the whole job"))
    assert rate.count("1.14 × *") == rate.count("*") == 1


def test_times_of_threads_are_compared_by_event(make_run: Callable[..., Path]) -> None:
    """Half of the times of one run are missing: their process was killed."""
    whole, half = make_run("a", 100), make_run("b", 100, job="other")
    for path, n_events in ((whole, 600), (half, 300)):
        report = json.loads((path / "report.json").read_text())
        report["spent"] = {"reading_s": 0.01 * n_events, "n_events": n_events}
        report["input"] = {
            "n_events": n_events,
            "columns": [{"column": "Jet_pt", "read_bytes": 4 * n_events}],
        }
        (path / "report.json").write_text(json.dumps(report))
    first, second = compare([read_run(whole), read_run(half)])
    assert first.figures["reading"].value == 0.01
    assert (second.figures["reading"].ratio, second.columns["Jet_pt"].ratio) == (1, 1)


def test_outputs_with_other_events_are_named(
    make_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [make_run("a", 100), make_run("b", 100, job="other", digest="0" * 32)]
    assert main(["compare", *map(str, runs)]) == 0
    said = capsys.readouterr().out
    assert "events" in said.splitlines()[-1]
    assert said.splitlines()[-1].endswith("DIFFER")


def test_an_output_that_only_one_of_three_jobs_has_is_named(
    make_run: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [make_run(name, 100, job=name) for name in ("a", "b", "c")]
    report = json.loads((runs[1] / "report.json").read_text())
    report["events"]["outputs"].append({**report["events"]["outputs"][0], "label": "more"})
    (runs[1] / "report.json").write_text(json.dumps(report))
    assert main(["compare", *map(str, runs)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-2:]]
    assert rows == [["events", "the", "same", "the", "same"], ["more", "-", "DIFFER", "-"]]


@pytest.mark.parametrize(
    ("conditions", "code", "said"),
    [
        (["rate < 0.9"], 1, "rate < 0.9 (0.800)"),
        (["rate<0.8"], 0, ""),
        (["memory > 1.1", "rate <= 0.8"], 1, "rate <= 0.8 (0.800)"),
        (["rat < 0.9"], 2, 'unknown figure "rat"'),
        (["rate"], 2, "write FIGURE < RATIO"),
        (["rate < 1.1.1"], 2, "1.1.1 is not a number"),
    ],
)
def test_scripts_ask_by_a_condition_and_get_an_exit_code(
    make_run: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    conditions: list[str],
    code: int,
    said: str,
) -> None:
    runs = [make_run("a", 100), make_run("b", 80, job="other")]
    options = [word for text in conditions for word in ("--fail-if", text)]
    assert main(["compare", *map(str, runs), *options]) == code
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("which", [0, 1])
def test_what_is_not_known_fails_as_well(
    make_run: Callable[..., Path], capsys: pytest.CaptureFixture[str], which: int
) -> None:
    runs = [make_run("a", 100), make_run("b", 80, job="other")]
    file = runs[which] / "report.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "memory": None}))
    assert main(["compare", *map(str, runs), "--fail-if", "memory > 2"]) == 1
    assert "memory > 2: not known, since one of the reports has no" in capsys.readouterr().err


def test_what_cannot_be_compared_is_refused(
    make_run: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = make_run("a", 100)
    assert main(["compare", str(run)]) == 2
    assert main(["compare", str(run), str(run)]) == 2
    assert main(["compare", str(run), str(tmp_path / "none")]) == 3
    assert "not a run directory" in capsys.readouterr().err
    other = make_run("b", 100)
    assert main(["compare", str(run), str(other), "--fail-if", "rate < 1"]) == 2
    assert "repeats of one job" in capsys.readouterr().err
    (other / "report.json").write_text('{"job": 3}')
    assert main(["compare", str(run), str(other)]) == 3
    assert "forkrun report" in capsys.readouterr().err
    (other / "report.json").unlink()
    assert main(["compare", str(run), str(other)]) == 3
    assert "report.json is missing" in capsys.readouterr().err


def test_json_and_a_page_have_the_same(
    make_run: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    runs = [make_run("a", 100), make_run("b", 80, job="other")]
    page = tmp_path / "page.html"
    assert main(["compare", *map(str, runs), "--json", "--html", str(page)]) == 0
    columns: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["columns"]
    assert columns[1]["figures"]["rate"]["ratio"] == 0.8
    text = page.read_text(encoding="utf-8")
    content = text.split('id="content">')[1].split("</script>")[0]
    (figures,) = (each for each in json.loads(content)["sections"] if each["name"] == "figures")
    shown = {name: cells for (name, _), *cells in figures["parts"][0]["table"]["rows"]}
    assert shown["events of the whole job"][1]["ratio"] == 0.8
    known = [len(column["figures"]) for column in columns]
    assert known == [sum(cells[n] is not None for cells in shown.values()) for n in (0, 1)]
