"""Some rounds of chaos; `make chaos` runs many."""

from __future__ import annotations

import pytest

from tests.chaos.rounds import Bench, run_round


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.make(tmp_path_factory.mktemp("chaos"))


@pytest.mark.long
@pytest.mark.parametrize("seed", [1001, 1002, 1003])
def test_a_job_survives_whatever_dies(bench: Bench, seed: int) -> None:
    done = run_round(bench, seed)
    assert done.problem == "", done
