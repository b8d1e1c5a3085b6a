"""Pairs of commands at about the same moment; `make races` does many rounds."""

from __future__ import annotations

import pytest

from tests.batch.races import KINDS, Bench, run_round


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench.make(tmp_path_factory.mktemp("bench"))


@pytest.mark.long
@pytest.mark.parametrize(("number", "kind"), list(enumerate(KINDS)))
def test_pairs_of_commands_lose_nothing_and_the_job_can_be_brought_to_its_end(
    bench: Bench, number: int, kind: str
) -> None:
    race = run_round(bench, kind, number)
    assert race.problem == "", race
