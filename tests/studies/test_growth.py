"""`forkrun measure growth`: what one more of a thing costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from forkrun.cli.studies.measure.kinds import GROWING
from forkrun.studies.frame.repeats import Repeated, Row
from forkrun.studies.growth import SERIES, measure_growth, verdict, with_steps


def _rows(*cpu_s: float) -> list[Row]:
    sizes = [100 * 2**n for n in range(len(cpu_s))]
    rows = [Row(str(n), {"cpu_s": Repeated((s,))}) for n, s in zip(sizes, cpu_s, strict=True)]
    return with_steps(dict(zip(sizes, rows, strict=True)))


def test_what_costs_the_same_each_grows_linearly() -> None:
    rows = _rows(2.0, 3.0, 5.0)
    assert [row["step_s"] for row in rows[1:]] == [0.01, 0.01]
    assert rows[2]["growth"] == 1.0
    assert verdict("files", rows) == "files: one more costs 10 ms of CPU time, and grows linearly"


def test_what_grows_with_the_square_is_marked() -> None:
    assert verdict("files", _rows(1.0, 4.0, 16.0)) == (
        "files: one more costs 60 ms of CPU time, 2.0 times as much as where there are half:"
        " MORE than linear"
    )


def test_nothing_is_said_of_the_growth_of_what_costs_next_to_nothing() -> None:
    rows = _rows(1.0, 1.0, 1.1)
    assert "growth" not in rows[2].values
    assert verdict("files", rows).endswith("too little to tell how it grows")


def test_the_command_names_all_series() -> None:
    assert set(GROWING) == set(SERIES)


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", list(SERIES))
def test_each_series_is_a_job_of_so_many(name: str, tmp_path: Path) -> None:
    study = measure_growth([name], 4 / SERIES[name].most, tmp_path, 1, quiet=True)
    assert [row.name for row in study.rows.values()] == [f"{n} {name}" for n in (1, 2, 4)]
    assert all(row["private"] > 0 for row in study.rows.values())
    assert not list(tmp_path.glob("run"))
