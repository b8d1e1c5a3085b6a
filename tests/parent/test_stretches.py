"""Children take many units at a time, in blocks that span lumis; no result depends on which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import uproot

from forkrun.errors import EVENTS_LEFT_OUT
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, ledger_units, output_digests, write_job

MODULES = Path(__file__).with_name("stretch_modules.py")
N_LUMIS = 24
N_EVENTS = 384
NOTING = ("Weighted", "OneLumi", "WithCallbacks")


def job_of(folder: Path, name: str = "Weighted", **sections: Any) -> Path:
    lumis = [(run, lumi, 16) for run in (1, 2) for lumi in range(1, N_LUMIS // 2 + 1)]
    events = write_events(folder / "in.root", lumis)
    return write_job(
        folder,
        {
            "source": {"files": [str(events)]},
            "modules": [
                {
                    "label": "m",
                    "type": f"python:{MODULES}:{name}",
                    "params": {"notes": str(folder / "notes")} if name in NOTING else {},
                }
            ],
            "paths": {"p": ["m"]},
            **sections,
        },
    )


def blocks(folder: Path) -> list[tuple[int, int]]:
    """Events and lumis of the blocks that modules saw since this was last asked."""
    notes = folder / "notes"
    lines = notes.read_text().splitlines()
    notes.unlink()
    return [(int(line.split()[0]), int(line.split()[1])) for line in lines]


def run(folder: Path, name: str, *options: object, **kwargs: Any) -> Path:
    job = folder / "job.json"
    ended = forkrun("run", job, "-o", name, "-q", *options, cwd=folder, **kwargs)
    assert ended.code == 0, ended.err
    return folder / name


def test_a_block_spans_lumis_and_a_commit_many_units(tmp_path: Path) -> None:
    job_of(tmp_path)
    folder = run(tmp_path, "run", "--children", 1, "--set", "forking.min_unit_events=10")
    seen = blocks(tmp_path)
    assert sum(n_events for n_events, _ in seen) == N_EVENTS
    assert max(n_lumis for _, n_lumis in seen) > 4
    lines = (folder / "ledger" / "child-000.jsonl").read_text().splitlines()
    commits = [json.loads(line) for line in lines]
    plan = json.loads((folder / "plan.json").read_text())
    assert len(commits) < plan["n_units"] / 3
    assert commits[0]["n_units"] == 1
    assert ledger_units(folder) == list(range(plan["n_units"]))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("size", [0, 7])
def test_what_is_read_ahead_is_the_same_and_modules_are_called_on_one_thread(
    tmp_path: Path, size: int
) -> None:
    threads = tmp_path / "threads"
    params = {"threads": str(threads)}
    module = {"label": "m", "type": f"python:{MODULES}:OnMainThread", "params": params}
    job_of(tmp_path, modules=[module], threads={"block_size": size})
    as_usual = run(tmp_path, "as-usual", "--children", 1, "--set", "threads.read_ahead=false")
    assert set(threads.read_text().split()) == {"1"}
    ahead = run(tmp_path, "ahead", "--children", 1, "--set", "threads.read_ahead=true")
    if size:  # Else there may be no block left when it is known what a call costs.
        assert threads.read_text().split()[-1] == "2"
    assert output_digests(ahead) == output_digests(as_usual)
    reads_ahead = [
        json.loads((folder / "report.json").read_text())["job"]["reads_ahead"]
        for folder in (as_usual, ahead)
    ]
    assert reads_ahead == [False, True]


@pytest.mark.parametrize("name", ["OneLumi", "WithCallbacks"])
def test_modules_that_want_it_get_blocks_of_one_lumi(tmp_path: Path, name: str) -> None:
    job_of(tmp_path, name)
    run(tmp_path, "run", "--children", 1)
    seen = blocks(tmp_path)
    assert {n_lumis for _, n_lumis in seen} == {1}
    assert sum(n_events for n_events, _ in seen) == N_EVENTS


def test_the_lumi_of_a_block_of_several_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    job = job_of(tmp_path, "Naive")
    ended = forkrun("run", job, "-o", "run", "-q", "--children", 1, cwd=tmp_path)
    assert ended.code == 2
    assert " lumis; use events.lumis" in ended.err
    assert "one_lumi = True" in ended.err


@pytest.mark.long
def test_histograms_are_the_same_bytes_whatever_the_blocks_and_units(tmp_path: Path) -> None:
    job_of(tmp_path)
    cases: list[tuple[object, ...]] = [
        ("--children", 0, "--set", "threads.block_size=1"),
        ("--children", 1, "--set", "threads.block_size=7"),
        ("--children", 1, "--set", "threads.block_size=100000"),
        ("--children", 3),
        ("--children", 2, "--threads", 2, "--set", "threads.block_size=30"),
        ("--children", 3, "--distribution", "lumi"),
        ("--children", 2, "--distribution", "contiguous"),
        ("--children", 3, "--distribution", "round-robin", "--events-per-turn", 5),
        ("--children", 2, "--set", "forking.max_unit_events=3"),
    ]
    digests = [
        output_digests(run(tmp_path, f"run-{number}", *options))
        for number, options in enumerate(cases)
    ]
    assert digests[0]["histograms.root"]
    assert all(digest == digests[0] for digest in digests), digests


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "moment",
    ["begin", "after_ledger"]
    + [pytest.param(m, marks=pytest.mark.long) for m in ("before_rename", "after_rename")],
)
def test_a_stretch_whose_child_is_killed_is_done_again(tmp_path: Path, moment: str) -> None:
    job_of(tmp_path)
    faults = json.dumps([{"fault": "SIGKILL", "at": moment, "unit": 5}])
    whole = run(tmp_path, "whole", "--children", 1)
    killed = run(tmp_path, "killed", "--children", 2, env=environment(FORKRUN_CHAOS=faults))
    assert output_digests(killed) == output_digests(whole)
    assert ledger_units(killed) == ledger_units(whole)
    report = json.loads((killed / "report.json").read_text())
    assert report["events"]["n_events_read"] == N_EVENTS


@pytest.mark.long
def test_a_job_is_resumed_with_another_number_of_children(tmp_path: Path) -> None:
    job = job_of(tmp_path)
    whole = run(tmp_path, "whole", "--children", 1)
    faults = json.dumps([{"fault": "kill_parent", "at": "after_ledger", "unit": 0}])
    options = ("--children", 1, "--set", "threads.block_size=20")
    stopped = forkrun(
        "run", job, "-o", "run", "-q", *options, cwd=tmp_path,
        env=environment(FORKRUN_CHAOS=faults),
    )  # fmt: skip
    assert stopped.code != 0
    some = ledger_units(tmp_path / "run")
    assert 0 < len(some) < len(ledger_units(whole))
    resumed = run(tmp_path, "run", "--children", 3, "--set", "threads.block_size=20")
    assert output_digests(resumed) == output_digests(whole)


def test_reports_and_lumi_accounting_count_every_unit_of_a_stretch(tmp_path: Path) -> None:
    job_of(tmp_path)
    folder = run(tmp_path, "run", "--children", 2)
    report = json.loads((folder / "report.json").read_text())["events"]
    assert report["n_units_committed"] == report["n_units_planned"]
    assert report["n_lumis_committed"] == report["n_lumis_planned"] == N_LUMIS
    accounted = json.loads((folder / "processedLumis.json").read_text())
    assert accounted == {str(run): [[1, N_LUMIS // 2]] for run in (1, 2)}
    assert json.loads((folder / "notFinishedLumis.json").read_text()) == {}


def test_weights_that_are_not_finite_are_reported(tmp_path: Path) -> None:
    job_of(tmp_path, "Infinite")
    folder = run(tmp_path, "run", "--children", 2)
    report = json.loads((folder / "report.json").read_text())["events"]
    assert report["not_finite"] == {"m/weights": 2}  # the weight and its square
    text = (folder / "report.txt").read_text()
    assert "histogram m/weights: 2 of the values summed are infinite or NaN" in text


@pytest.mark.long
def test_an_event_that_kills_is_found_in_a_stretch_of_hundreds_of_lumis(tmp_path: Path) -> None:
    events = write_events(tmp_path / "in.root", [(1, lumi, 4) for lumi in range(1, 401)])
    module = {"label": "m", "type": f"python:{MODULES}:Deadly", "params": {"event": 703}}
    job = {
        "source": {"files": [str(events)]},
        "modules": [module],
        "paths": {"p": ["m"]},
        "recovery": {"on_bad_event": "skip"},
        "threads": {"block_size": 100_000},
    }
    write_job(tmp_path, job)
    ended = forkrun("run", "job.json", "-o", "run", "-q", "--children", 2, cwd=tmp_path)
    assert ended.code == EVENTS_LEFT_OUT, ended.err
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["events"]["n_events_read"] == 1599
    assert [event["event"].split(":")[2] for event in report["events"]["left_out"]] == ["703"]
    deaths = [line for line in report["recovery"] if line["unit"] is not None]
    assert len(deaths) <= 5  # the stretch, a part, the unit, its events, the event alone
    with uproot.open(tmp_path / "run" / "output" / "histograms.root") as file:
        assert file["m/events"].values().sum() == 1599
