"""What is simulated is what happens: jobs whose modules sleep, against their simulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun.base.json_lines import read_json_lines
from forkrun.cli import main
from forkrun.errors import ConfigError
from forkrun.index import IdBranches, index_files
from forkrun.studies.simulation import layout_of, read_costs
from tests.support.files import write_events
from tests.support.jobs import forkrun, module, write_job

N_EVENTS = 600
N_FIRST = 200
"""Events that take ten times as long as the others."""
ORDINARY_S = 0.003


def sleeping_job(folder: Path, **forking: Any) -> Path:
    """Two files, ten lumis; an analyzer that sleeps."""
    files = [
        write_events(folder / f"{i}.root", [(1, 5 * i + k, 60) for k in range(1, 6)], 300 * i + 1)
        for i in range(2)
    ]
    job = {
        "source": {"files": [str(file) for file in files]},
        "forking": {"balance_for": 3, **forking},
        "modules": [module("sleep", "Sleep", n_first=N_FIRST, factor=10, time_s=ORDINARY_S)],
        "outputs": [{"label": "events"}],
    }
    return write_job(folder, job)


@pytest.mark.parametrize(
    ("distribution", "children"), [("guided", 2), ("guided", 4), ("contiguous", 4)]
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
    run = tmp_path / "run"
    ended = forkrun("run", job, "-o", run, "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    report = json.loads((run / "report.json").read_text())
    measured = report["balance"]["utilization"]
    longest_s = max(child["processing_s"] for child in report["children"])
    # In a simulation all begin together; on a busy machine some begin later.
    late = lateness_s(run) / longest_s
    # A busy machine makes children slower than they ask for, never faster.
    nominal = simulated(costs)
    assert measured == pytest.approx(nominal["utilization"], abs=0.1 + late)
    assert longest_s > 0.95 * nominal["wall_s"]
    # What units took on this machine is known exactly.
    as_it_was = simulated(run)
    assert measured == pytest.approx(as_it_was["utilization"], abs=0.05 + late)
    assert longest_s == pytest.approx(as_it_was["wall_s"], rel=0.05 + late)


def lateness_s(run: Path) -> float:
    """Between the first events of the first child and of the last."""
    records = read_json_lines(run / "monitoring/events.jsonl")
    begins_s = [r["time_s"] for r in records if r["event"] == "child_first_event"]
    return float(max(begins_s) - min(begins_s))


def test_costs_of_a_run_are_those_of_its_units(tmp_path: Path) -> None:
    job = sleeping_job(tmp_path, distribution="lumi", children=2)
    assert forkrun("run", job, "-o", "run", "-q", cwd=tmp_path).code == 0
    files = [str(tmp_path / f"{i}.root") for i in range(2)]
    layout = layout_of(index_files(files, IdBranches("Events", "run", "luminosityBlock", "event")))
    costs = read_costs(tmp_path / "run", layout, files)
    lines = [
        json.loads(line)
        for file in (tmp_path / "run/ledger").glob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    assert costs.before_s[-1] == pytest.approx(sum(line["wall_s"] for line in lines))
    first = layout.lumi_range
    by_lumi = dict(zip(range(1, 11), costs.of(first, first + 60).tolist(), strict=True))
    assert by_lumi == pytest.approx({line["lumi"]: line["wall_s"] for line in lines})
    with pytest.raises(ConfigError, match="had other input files"):
        read_costs(tmp_path / "run", layout, files[::-1])
    with pytest.raises(ConfigError, match="is not the run directory of a job"):
        read_costs(tmp_path, layout, files)
    for file in (tmp_path / "run/ledger").glob("*.jsonl"):
        file.unlink()
    with pytest.raises(ConfigError, match="no unit of this job has been committed"):
        read_costs(tmp_path / "run", layout, files)
