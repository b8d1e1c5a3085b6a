"""Content of LZMA blocks, which a second job takes from the cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.jobs import forkrun


class Runs:
    """Runs the same job again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.remote = folder, folder / "kept"
        shape = ["--events", 4000, "--compression", "lzma:6", "--cluster", 1000, "--quiet"]
        assert forkrun("sample", "lzma.root", *shape, cwd=folder).code == 0

    def histograms(self, limit: str = "1 GB") -> bytes:
        source = {"files": ["lzma.root"], "cache": str(self.remote), "cache_limit": limit}
        axes = [{"bins": 50, "low": 0, "high": 500}]
        job = {
            "source": {**source, "cache_decoded": True},
            "modules": [
                {"label": "pt", "type": "expression:Jet_pt", "kind": "histogram", "axes": axes}
            ],
            "paths": {"all": ["pt"]},
        }
        (self.folder / "job.json").write_text(json.dumps(job))
        ended = forkrun("run", "job.json", "-o", "run", "--force", "--quiet", cwd=self.folder)
        assert ended.code == 0, ended.err
        return (self.folder / "run/output/histograms.root").read_bytes()

    def cache(self, *words: str) -> str:
        ended = forkrun("cache", *words, "--folder", self.remote, cwd=self.folder)
        assert ended.code == 0, ended.err
        return ended.out

    @property
    def contents(self) -> list[Path]:
        return sorted(self.remote.glob("decoded-*.bytes"))

    @property
    def n_records(self) -> int:
        return sum(file.stat().st_size // 48 for file in self.remote.glob("*.records"))


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.mark.slow
def test_blocks_are_uncompressed_once(runs: Runs) -> None:
    first, n_records = runs.histograms(), runs.n_records
    assert n_records >= 8  # four clusters, with the jets' pt and number
    assert runs.histograms() == first
    assert runs.n_records == n_records
    assert "decoded blocks" in runs.cache()
    runs.cache("clear")
    assert list(runs.remote.iterdir()) == []


@pytest.mark.slow
def test_damaged_and_missing_content_is_uncompressed_again(runs: Runs) -> None:
    first, n_records = runs.histograms(), runs.n_records
    for file in runs.contents:
        file.write_bytes(bytes(file.stat().st_size))
    assert runs.histograms() == first
    assert runs.n_records >= 2 * n_records - 2  # those of a tree's record are read by one process
    for file in runs.contents:
        file.unlink()
    for records in runs.remote.glob("*.records"):
        records.write_bytes(records.read_bytes()[:-7])
    assert runs.histograms() == first
    assert runs.n_records == n_records


@pytest.mark.slow
def test_nothing_is_kept_beyond_the_limit(runs: Runs) -> None:
    first = runs.histograms()
    runs.cache("clear")
    assert runs.histograms("10 kB") == first
    assert sum(file.stat().st_size for file in runs.contents) <= 10_000
