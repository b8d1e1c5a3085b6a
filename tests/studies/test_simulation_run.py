"""What is simulated is what happens: jobs whose modules sleep, against their simulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun.base.json_lines import read_json_lines
from forkrun.cli import main
from forkrun.config.source import IdBranches
from forkrun.errors import ConfigError
from forkrun.index.read import index_files
from forkrun.studies.simulation.layout import layout_of, read_costs
from tests.support.files import write_events
from tests.support.jobs import forkrun, module, write_job

N_EVENTS = 600
N_BY_LUMI = 10
N_FIRST = 200
"""Events that take ten times as long as the others."""
ORDINARY_S = 0.003


def sleeping_job(folder: Path, sleep: str = "Sleep", **forking: Any) -> Path:
    """Two files, each with 30 lumis that are too small to be cut; an analyzer that sleeps."""
    lumis = [(1, lumi, N_BY_LUMI) for lumi in range(1, N_EVENTS // N_BY_LUMI + 1)]
    halves = lumis[: len(lumis) // 2], lumis[len(lumis) // 2 :]
    files = [
        write_events(folder / f"{i}.root", half, i * N_EVENTS // 2 + 1)
        for i, half in enumerate(halves)
    ]
    job = {
        "source": {"files": [str(file) for file in files]},
        "forking": {"min_unit_events": N_BY_LUMI, **forking},
        "modules": [module("sleep", sleep, n_first=N_FIRST, factor=10, time_s=ORDINARY_S)],
        "outputs": [{"label": "events"}],
    }
    return write_job(folder, job)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distribution", "children"),
    [
        ("guided", 4),
        pytest.param("guided", 2, marks=pytest.mark.long),
        pytest.param("contiguous", 4, marks=pytest.mark.long),
    ],
)
def test_a_job_is_as_well_balanced_as_its_simulation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], distribution: str, children: int
) -> None:
    def simulated(costs: Path) -> dict[str, Any]:
        options = ["--with-children", str(children), "--costs", str(costs)]
        assert main(["plan", str(job), "--simulate", "--json", *options]) == 0
        rows = json.loads(capsys.readouterr().out)["rows"]
        (row,) = [row for row in rows if row["distribution"] == distribution]
        return dict(row)

    job = sleeping_job(tmp_path, distribution=distribution, children=children)
    costs = tmp_path / "costs.txt"
    np.savetxt(costs, np.where(np.arange(N_EVENTS) < N_FIRST, 10, 1) * ORDINARY_S)
    nominal = simulated(costs)
    assert nominal["n_stretches"] < N_EVENTS // N_BY_LUMI
    for n_left in (2, 1, 0):  # whatever else a machine does may disturb one run, not each of three
        run = tmp_path / f"run-{n_left}"
        ended = forkrun("run", job, "-o", run, "-q", cwd=tmp_path)
        assert ended.code == 0, ended.err
        assert len(commits_of(run)) < N_EVENTS // N_BY_LUMI
        try:
            expect_balance(run, nominal, simulated(run))
        except AssertionError:
            if n_left == 0:
                raise
        else:
            break


def expect_balance(run: Path, nominal: dict[str, Any], as_it_was: dict[str, Any]) -> None:
    """A simulation with the costs that were asked for, and one with those that were measured."""
    report = json.loads((run / "report.json").read_text())
    measured = report["balance"]["utilization"]
    longest_s = max(child["processing_s"] for child in report["children"])
    # In a simulation all begin together; on a busy machine some begin later.
    late = lateness_s(run) / longest_s
    # A busy machine makes children slower than they ask for, never faster.
    # What calls cost is learnt from CPU time: a module that sleeps uses none, a simulated one does.
    assert measured == pytest.approx(nominal["utilization"], abs=0.2 + late)
    assert longest_s > 0.95 * nominal["ideal_s"]
    # What units took on this machine is known exactly.
    assert measured == pytest.approx(as_it_was["utilization"], abs=0.1 + late)
    assert longest_s == pytest.approx(as_it_was["wall_s"], rel=0.1 + late)


def lateness_s(run: Path) -> float:
    """Between the first events of the first child and of the last."""
    records = read_json_lines(run / "monitoring/events.jsonl")
    begins_s = [r["time_s"] for r in records if r["event"] == "child_first_event"]
    return float(max(begins_s) - min(begins_s))


def commits_of(run: Path) -> list[dict[str, Any]]:
    """Lines of its ledger."""
    return [
        json.loads(line)
        for file in (run / "ledger").glob("*.jsonl")
        for line in file.read_text().splitlines()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("sleep", ["SleepByLumi", pytest.param("Sleep", marks=pytest.mark.long)])
def test_costs_of_a_run_are_those_of_its_commits(tmp_path: Path, sleep: str) -> None:
    """Of units, one by one, or of several that were processed together."""
    job = sleeping_job(tmp_path, sleep, distribution="guided", children=2)
    assert forkrun("run", job, "-o", "run", "-q", cwd=tmp_path).code == 0
    files = [str(tmp_path / f"{i}.root") for i in range(2)]
    layout = layout_of(index_files(files, IdBranches("Events", "run", "luminosityBlock", "event")))
    costs = read_costs(tmp_path / "run", layout, files)
    commits = commits_of(tmp_path / "run")
    n_units = len(layout.lumi_range)
    assert (len(commits) == n_units) == (sleep == "SleepByLumi")
    assert costs.before_s[-1] == pytest.approx(sum(commit["wall_s"] for commit in commits))
    first = np.array([N_BY_LUMI * commit["unit"] for commit in commits])
    last = first + [commit["n_events"] for commit in commits]
    assert costs.of(first, last).tolist() == pytest.approx([c["wall_s"] for c in commits])
    outside_s = sum(c["end_s"] - c["start_s"] - c["wall_s"] for c in commits)
    assert costs.overhead_s == pytest.approx(outside_s / len(commits))
    with pytest.raises(ConfigError, match="had other input files"):
        read_costs(tmp_path / "run", layout, files[::-1])
    with pytest.raises(ConfigError, match="is not the run directory of a job"):
        read_costs(tmp_path, layout, files)
    for file in (tmp_path / "run/ledger").glob("*.jsonl"):
        file.unlink()
    with pytest.raises(ConfigError, match="no unit of this job has been committed"):
        read_costs(tmp_path / "run", layout, files)
