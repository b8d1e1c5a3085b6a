"""Damaged files: a short form of `make fuzz`, and files that once caused faults."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from forkrun import _core
from tests.fuzz.fuzz import is_fault, prepare, run_trials
from tests.fuzz.mutations import Original
from tests.fuzz.originals import lcio, made, ntuples, originals, with_large_clusters
from tests.fuzz.trial import STEPS, Source, try_file

IDS = ("run", "luminosityBlock", "event")
SEEDS = range(1, 61)


@pytest.fixture(scope="module", autouse=True)
def _warmed_up() -> None:
    """Each trial is a fork of this process: it need not load ROOT's interpreter."""
    _core.warm_up()


@pytest.mark.slow
def test_what_is_not_damaged_comes_through_every_step(tmp_path: Path) -> None:
    for original, source in prepare([*originals(tmp_path), with_large_clusters(tmp_path)]):
        assert original.baskets
        outcome = try_file(source, source.path, 60)
        assert outcome.steps == dict.fromkeys(STEPS, "same")


@pytest.mark.long
def test_damage_is_refused_with_the_name_of_the_file_or_does_no_harm(tmp_path: Path) -> None:
    trials = list(run_trials(prepare(made(tmp_path)), SEEDS, tmp_path, 60))
    assert [(t.file, t.seed, t.faults) for t in trials if t.faults] == []
    steps = [how for trial in trials for how in trial.outcome.steps.values()]
    assert steps.count("refused") >= len(trials) / 2  # the damage is not harmless


@pytest.mark.slow
def test_damaged_files_of_lcio_are_refused_or_do_no_harm(tmp_path: Path) -> None:
    prepared = prepare([file for file in lcio(tmp_path) if file.parent == tmp_path])
    for _, source in prepared:
        assert {*try_file(source, source.path, 60).steps.values()} == {"same"}
    trials = list(run_trials(prepared, range(1, 49), tmp_path, 60))
    assert [(t.file, t.seed, t.faults) for t in trials if t.faults] == []
    steps = [how for trial in trials for how in trial.outcome.steps.values()]
    assert steps.count("refused") >= len(trials) / 2


@pytest.mark.slow
def test_damage_in_baskets_that_are_copied_as_they_are_is_refused(tmp_path: Path) -> None:
    """With merge.verify, of the seeds whose damage a reader of all branches finds."""
    prepared = prepare([with_large_clusters(tmp_path)])
    trials = list(run_trials(prepared, range(1, 25), tmp_path, 60))
    refused = [t for t in trials if t.outcome.steps.get("read") == "refused"]
    assert len(refused) >= 5
    assert {t.outcome.steps["outputs"] for t in refused} == {"refused"}


@pytest.mark.slow
@pytest.mark.parametrize("compression", ["zlib-1", "lzma-4", "lz4-4"])
def test_what_is_read_with_checksums_is_right_or_refused(tmp_path: Path, compression: str) -> None:
    """`inside` damages what is compressed, so that its checksum fits again."""
    files = [file for file in made(tmp_path) if compression in file.name]
    trials = run_trials(prepare(files), range(1000, 1012), tmp_path, 60)
    wrong = [t for t in trials if t.outcome.steps.get("read") == "differs"]
    assert [(t.seed, t.kind) for t in wrong if t.kind in ("flip", "zero", "swap")] == []


@pytest.mark.long
def test_damaged_rntuples_are_refused_or_have_the_values_that_they_had(
    real_data: Path, tmp_path: Path
) -> None:
    assert (real_data / "rntuple").is_dir()
    trials = list(run_trials(prepare(ntuples(tmp_path)), range(1, 401), tmp_path, 60))
    assert [(t.seed, t.kind, t.faults) for t in trials if t.faults] == []
    read = [trial.outcome.steps.get("read") for trial in trials]
    assert read.count("differs") == 0
    assert read.count("refused") >= 5


@pytest.mark.long
def test_files_that_did_harm_do_none(real_data: Path, tmp_path: Path) -> None:
    samples = sorted((real_data / "damaged").glob("*.root.gz"))
    assert len(samples) == 40
    harmed = []
    for sample in samples:
        damaged = tmp_path / sample.stem
        damaged.write_bytes(gzip.decompress(sample.read_bytes()))
        outcome = try_file(Source(damaged, IDS, {}), damaged, 5)
        faults = [f"{s}: {how}" for s, how in outcome.steps.items() if is_fault(s, how)]
        if faults or outcome.steps["merge"] == "unreadable":
            harmed.append((sample.stem, faults, outcome.words))
    assert harmed == []


def test_a_file_of_the_same_seed_is_the_same(tmp_path: Path) -> None:
    from tests.fuzz.mutations import KINDS, mutate

    file = made(tmp_path)[0]
    original = Original.of(file.name, file.read_bytes())
    seen = [mutate(original, seed) for seed in range(100)]
    assert seen == [mutate(original, seed) for seed in range(100)]
    assert {kind for kind, _ in seen} == set(KINDS)
