"""`forkrun measure scaling`: rates against children, threads and work, and what stops them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forkrun.cli.parser import parse_arguments
from forkrun.errors import NOT_CONCLUSIVE
from forkrun.studies.frame.repeats import doubling
from forkrun.studies.frame.study import Plot
from forkrun.studies.scaling import Point, Use, efficiency, measure_scaling, points, reason
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job

ALONE = Use(n_cores=1, cpu_s=0.010, busy=0.98, utilization=1.0)


def test_numbers_double_and_the_user_names_children_threads_or_both() -> None:
    assert doubling(1, 8) == [1, 2, 4, 8]
    assert doubling(1, 6) == [1, 2, 4, 6]
    assert doubling(3, 3) == [3]
    shapes = [(p.children, p.threads) for p in points(None, None, [0], 4)]
    assert shapes == [(1, 1), (2, 1), (4, 1), (1, 2), (1, 4)]
    shapes = [(p.children, p.threads) for p in points([2, 3], [1, 2], [0], 4)]
    assert shapes == [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2)]
    names = [p.name for p in points([2], None, [0, 5], 4)]
    assert names == ["1 × 1", "2 × 1", "1 × 1, 5 ms more", "2 × 1, 5 ms more"]


@pytest.mark.parametrize(
    ("use", "share", "words"),
    [
        (Use(4, 0.020, 0.98, 1.0), 0.5, "an event takes 2.00 times the CPU time: cores share"),
        (Use(4, 0.010, 0.49, 1.0), 0.5, "CPUs: there are 2 for 4 threads"),
        (Use(2, 0.010, 0.49, 1.0), 0.5, "threads wait for each other, computing 49.0 %"),
        (Use(2, 0.010, 0.49, 1.0, 0.6), 0.5, "disk: threads compute 49.0 % of the time"),
        (Use(2, 0.010, 0.98, 0.5), 0.5, "waiting for the last child: the others are done after 50"),
    ],
)  # fmt: skip
def test_what_costs_most_is_named(use: Use, share: float, words: str) -> None:
    assert efficiency(use, ALONE) == pytest.approx(share)
    assert reason(use, ALONE, n_cpus=2).startswith(words)


def test_the_first_point_that_is_not_well_used_is_where_it_stops() -> None:
    def run(point: Point) -> dict[str, float]:
        lost = 1.0 if point.children < 4 else 0.6
        rate = 100.0 * lost
        return {"rate": rate * point.n_cores, "per_core": rate, "cpu_s": 0.01, "busy": lost,
                "utilization": 1.0, "cached": 1.0, "loop_s": 3.0}  # fmt: skip

    found = measure_scaling("job", points([1, 2, 4], None, [0], 8), run, 1, quiet=True)
    assert found.rows["4 × 1"]["relative"] == pytest.approx(0.6)
    assert len(found.conclusions) == 1
    assert found.conclusions[0].startswith("children: at 4 × 1 each core does 60.0 % of what one")
    plot = found.plot
    assert isinstance(plot, Plot)
    assert [curve.name for curve in plot.curves] == ["children"]
    assert [point[:2] for point in plot.curves[0].points] == [(1, 1), (2, 1), (4, 0.6)]


@pytest.mark.slow
def test_a_job_is_measured_with_work_added_to_its_events(tmp_path: Path) -> None:
    file = write_events(tmp_path / "in.root", [(1, 1, 300)])
    job = write_job(tmp_path, jets_job([file], forking={"distribution": "lumi"}))
    options = ("--children", 1, "--work", 2, "--seconds", 0.1, "--repeats", 1, "-q")
    files = ("--json", "scaling.json", "--plot", "scaling.png")
    ended = forkrun("measure", "scaling", job, *options, *files, cwd=tmp_path)
    assert ended.code in (0, NOT_CONCLUSIVE), ended.err
    (row,) = json.loads((tmp_path / "scaling.json").read_text())["rows"]
    assert row["name"] == "1 × 1, 2 ms more"
    assert row["cpu_s"]["value"] >= 0.002
    assert row["per_core"]["value"] <= 500
    assert 4 <= row["events"]["value"] <= 50
    assert row["relative"]["value"] == 1
    assert (tmp_path / "scaling.png").stat().st_size > 10_000


def test_numbers_are_checked_before_anything_runs(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"--children": "0", "--threads": "4..2", "--work": "-1", "--seconds": "0"}
    for option, value in wrong.items():
        with pytest.raises(SystemExit, match="2"):
            parse_arguments(["measure", "scaling", "job.toml", option, value])
        assert option in capsys.readouterr().err
