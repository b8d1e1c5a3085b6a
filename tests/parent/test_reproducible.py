"""The bytes of what a job writes: a function of its input, its selection and its settings alone."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.merge import merge_files
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import (
    forkrun,
    jets_job,
    ledger_units,
    module,
    output_digests,
    running,
    sha256,
    wait_for,
    write_job,
)
from tests.support.odd_file import write_odd_file
from tests.support.records import records, uuids

FILE = "nanoAOD_2015_CMS_Open_Data_ttbar.root"
Variant = tuple[int, int, str]  # children, threads, executor
FEW: list[Variant] = [
    (0, 1, "serial"),
    (0, 4, "tbb"),
    (1, 2, "tbb"),
    (2, 1, "tbb"),
    (2, 4, "tbb"),
    (3, 2, "tbb"),
]
ALL: list[Variant] = list(itertools.product((0, 1, 2, 3), (1, 2, 4), ("serial", "tbb")))
Digests = dict[str, str]


def full_job(files: Sequence[Path]) -> dict[str, Any]:
    """Three outputs, of selected events and of all, with baskets kept as they are and compressed
    anew; kept branches and produced columns, histograms, in Python and in C++."""
    return jets_job(
        files,
        job={"plugins": ["forkrun_modules"]},
        modules=[
            module("jets", "ManyJets"),
            module("sums", "JetSums"),
            module("plots", "Plots"),
            {"label": "two_muons", "type": "cpp:TwoMuons"},
            {"label": "dimuon", "type": "cpp:DimuonMass"},
            {"label": "masses", "type": "cpp:DimuonPlots"},
        ],
        paths={"skim": ["jets", "plots"], "muons": ["two_muons", "masses"]},
        outputs=[
            {"label": "events", "paths": ["skim"]},
            {
                "label": "muons",
                "paths": ["muons"],
                "keep": ["run", "luminosityBlock", "event", "Muon_*", "Dimuon_mass", "HardJet_pt"],
                "compression": "lz4:4",
            },
            {"label": "all"},
        ],
    )


def run(folder: Path, job: dict[str, Any], variant: Variant, **threads: Any) -> Digests:
    """Runs the job in a run directory of its own; gives the SHA-256 of the files that it made."""
    children, per_child, executor = variant
    settings = {"per_child": per_child, "executor": executor, **threads}
    forking = {"distribution": "lumi", **job.get("forking", {}), "children": children}
    job = {**job, "forking": forking, "threads": settings}
    name = f"run-{len(list(folder.iterdir()))}-of-{'many' * children}"
    ended = forkrun("run", write_job(folder, job), "-o", name, "-q", cwd=folder)
    assert (ended.code, ended.err) == (0, "")
    return output_digests(folder / name)


def clusters(file: Path) -> list[int]:
    """First entry of each cluster, then their number: every branch has one basket in each."""
    with uproot.open(file) as opened:
        borders = {tuple(branch.entry_offsets) for branch in opened["Events"].branches}
    (of_all,) = borders
    return list(of_all)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three files, with runs and lumis that begin in one and end in the next; each has a cluster
    that is large enough to be kept whole, and one that is not."""
    folder = tmp_path_factory.mktemp("sample")
    settings = SampleSettings(
        n_events=6000, lumis_per_run=4, n_files=3, n_branches=95, cluster=1500
    )
    return write_sample(folder / "sample.root", settings)


@pytest.fixture(scope="module")
def first(sample: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Digests:
    """What one child with one thread wrote."""
    written = run(tmp_path_factory.mktemp("first"), full_job(sample), (1, 1, "tbb"))
    names = ("all", "events", "muons", "histograms")
    assert written.keys() == {f"{name}.root" for name in names}
    return written


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("variant", FEW)
def test_all_files_are_the_same_for_any_children_threads_and_executor(
    sample: list[Path], first: Digests, tmp_path: Path, variant: Variant
) -> None:
    assert run(tmp_path, full_job(sample), variant) == first


@pytest.mark.slow
def test_a_job_that_was_killed_and_resumed_gives_the_same_bytes(
    sample: list[Path], first: Digests, tmp_path: Path
) -> None:
    """Killed, with its children, after some units and within others."""
    go = tmp_path / "go"
    job = {**full_job(sample), "forking": {"distribution": "lumi", "children": 2}}
    job["modules"].append(module("waits", "Waits", until=str(go), event=3500))
    job["paths"] = {"skim": ["waits", "jets", "plots"], "muons": ["waits", "two_muons", "masses"]}
    killed = tmp_path / "killed"
    with running("run", write_job(tmp_path, job), "-o", "killed", "-q", cwd=tmp_path):
        wait_for(lambda: bool(ledger_units(killed)))
    assert 0 < len(ledger_units(killed)) < 8
    assert not output_digests(killed)
    go.touch()
    ended = forkrun("resume", "killed", "-q", "--no-plots", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert output_digests(killed) == first


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("distribution", ["guided", "contiguous"])
def test_how_events_are_shared_out_does_not_matter(
    sample: list[Path], first: Digests, tmp_path: Path, distribution: str
) -> None:
    job = {**full_job(sample), "forking": {"distribution": distribution}}
    assert run(tmp_path, job, (1, 1, "tbb")) == first
    assert run(tmp_path, job, (3, 2, "tbb")) == first


@pytest.mark.long
@pytest.mark.parametrize("variant", [variant for variant in ALL if variant not in FEW])
def test_all_files_are_the_same_in_each_combination(
    sample: list[Path], first: Digests, tmp_path: Path, variant: Variant
) -> None:
    assert run(tmp_path, full_job(sample), variant) == first


@pytest.mark.parametrize(
    "block_size", [333, *(pytest.param(n, marks=pytest.mark.long) for n in (50, 100_000))]
)
def test_the_size_of_blocks_does_not_matter(
    sample: list[Path], first: Digests, tmp_path: Path, block_size: int
) -> None:
    assert run(tmp_path, full_job(sample), (2, 2, "tbb"), block_size=block_size) == first


def test_time_zone_place_and_old_content_of_memory_do_not_matter(
    sample: list[Path], first: Digests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    monkeypatch.setenv("MALLOC_PERTURB_", "165")  # what the C library hands out is full of this
    folder = tmp_path / "a folder with another name and a longer one"
    folder.mkdir()
    moved = [Path(shutil.copy(file, folder / f"moved-{i}.root")) for i, file in enumerate(sample)]
    assert run(folder, full_job(moved), (2, 1, "tbb")) == first


@pytest.mark.long
def test_a_real_file_gives_the_same_bytes(real_data: Path, tmp_path: Path) -> None:
    job = full_job([real_data / FILE])
    once = run(tmp_path, job, (1, 1, "tbb"))
    sizes = (50, 333, 100_000)
    for block_size, variant in zip(sizes, FEW[1::2], strict=True):
        assert run(tmp_path, job, variant, block_size=block_size) == once


@pytest.mark.long
def test_objects_that_root_copies_give_the_same_bytes(tmp_path: Path) -> None:
    """Also in the process that merges what it wrote itself, where ROOT has met all classes."""
    file = write_odd_file(tmp_path / "odd.root", "zlib")
    job = {"source": {"files": [str(file)]}, "outputs": [{"label": "all"}]}
    once = run(tmp_path, job, (1, 1, "tbb"))
    for block_size, variant in ((7, (3, 2, "tbb")), (50, (0, 4, "tbb")), (90, (0, 1, "serial"))):
        assert run(tmp_path, job, variant, block_size=block_size) == once


def test_clusters_are_those_of_the_input_where_all_events_are_kept(
    sample: list[Path], tmp_path: Path
) -> None:
    run(tmp_path, full_job(sample), (2, 2, "tbb"))
    n_before, borders = 0, [0]
    for file in sample:
        borders += [n_before + entry for entry in clusters(file)[1:]]
        n_before = borders[-1]
    assert borders == [0, 1500, 2000, 3500, 4000, 5500, 6000]
    assert clusters(next(tmp_path.glob("run-*/output/all.root"))) == borders


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("selected", "output", "borders"),
    [
        # Each cluster of the input is one of the output.
        ({"every": 1}, {}, list(range(0, 5001, 500))),
        # What is selected within clusters is collected; those of which all is kept stay whole.
        ({"every": 2, "whole_from": 2500}, {}, [0, 1250, 1750, 2250, 2750, 3250, 3750]),
        ({"every": 2, "whole_from": 4500}, {}, [0, "full", 2250, 2750]),
        # No cluster stays whole where all is compressed anew.
        ({"every": 1}, {"compression": "lz4:4"}, [0, "full", "full", 5000]),
    ],
)
def test_where_clusters_begin_follows_from_the_events_that_were_selected(
    large: Path,
    tmp_path: Path,
    selected: dict[str, int],
    output: dict[str, Any],
    borders: list[Any],
) -> None:
    """A "full" cluster ends where it has 32 MiB, of 17 kB per event."""
    job = {
        "source": {"files": [str(large)]},
        "forking": {"distribution": "guided", "max_unit_events": 300},
        "modules": [module("some", "Some", **selected)],
        "paths": {"skim": ["some"]},
        "outputs": [{"label": "out", "paths": ["skim"], **output}],
    }
    variants: list[tuple[Variant, int]] = [
        ((0, 2, "tbb"), 999), ((1, 1, "tbb"), 0), ((3, 1, "tbb"), 100),
    ]  # fmt: skip
    written = [run(tmp_path, job, variant, block_size=size) for variant, size in variants]
    assert written[1:] == written[:-1]
    found = clusters(next(tmp_path.glob("run-*/output/out.root")))
    assert len(found) == len(borders)
    for before, border, wanted in zip([0, *found], found, borders, strict=False):
        if wanted == "full":
            assert (border - before) * 2100 * 8 == pytest.approx(32 << 20, rel=0.01)
        else:
            assert border == wanted


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of one lumi, with clusters of 500 events."""
    file = tmp_path_factory.mktemp("large") / "large.root"
    write_large_unit(file)
    return file


def write_large_unit(file: Path) -> None:
    """5000 events of 2100 hits in one lumi."""
    columns = [("run", "uint32"), ("luminosityBlock", "uint32"), ("event", "uint64")]
    writer = _core.TreeWriter(str(file), "Events", [*columns, ("Hit_x", "float64[]")], "zstd:1")
    for begin in range(0, 5000, 500):
        ones = np.ones(500, dtype=np.uint32)
        offsets = np.arange(501, dtype=np.int64) * 2100
        writer.write(
            {
                "run": ones,
                "luminosityBlock": ones,
                "event": np.arange(begin, begin + 500, dtype=np.uint64),
                "Hit_x": (offsets, np.zeros(500 * 2100)),
            }
        )
    writer.close()


def test_every_date_is_the_fixed_one(sample: list[Path], tmp_path: Path) -> None:
    run(tmp_path, full_job(sample), (0, 1, "tbb"))
    for name in ("events", "muons", "histograms"):
        found = list(records(next(tmp_path.glob(f"run-*/output/{name}.root"))))
        assert {record.date for record in found} == {datetime(1995, 1, 1)}
        assert {"TFile", "TList"} < {record.type for record in found}


def test_merged_files_are_the_same_in_any_folder_under_any_name(
    sample: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process, which has read and written others, and in a new one elsewhere."""
    here, there = tmp_path / "merged.root", tmp_path / "other" / "name"
    merge_files(sample, here)
    there.mkdir(parents=True)
    copies = [Path(shutil.copy(file, there / f"{i}.root")) for i, file in enumerate(sample)]
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    ended = forkrun("merge", "all-of-them.root", *copies, "-q", cwd=there)
    assert ended.code == 0, ended.err
    assert sha256(here) == sha256(there / "all-of-them.root")


def test_the_uuid_follows_the_content(sample: list[Path], tmp_path: Path) -> None:
    for name, files in (("a", sample), ("b", sample), ("c", sample[:2])):
        merge_files(files, tmp_path / f"{name}.root")
    a, b, c = (uuids(tmp_path / f"{name}.root") for name in "abc")
    assert a == b
    assert a[0] == a[1] != c[0] == c[1]
    assert (a[0].version, a[0].variant) == (8, "specified in RFC 4122")
    with uproot.open(tmp_path / "a.root") as file:
        assert file.file.uuid == a[0]


def test_one_bit_gives_another_uuid_where_all_sizes_are_the_same(tmp_path: Path) -> None:
    for n in (0, 1):
        writer = _core.TreeWriter(str(tmp_path / f"{n}.root"), "t", [("x", "int32")], "none")
        writer.write({"x": np.array([5, 6 ^ n, 7], dtype=np.int32)})
        writer.close()
    assert (tmp_path / "0.root").stat().st_size == (tmp_path / "1.root").stat().st_size
    assert uuids(tmp_path / "0.root") != uuids(tmp_path / "1.root")
