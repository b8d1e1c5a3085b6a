"""Random numbers in whole jobs: the same for every event, however the job is laid out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from forkrun.modules.random import BlockRandom
from tests.support.files import write_events
from tests.support.jobs import HERE, ROOT, forkrun, jets_job, ledger_units, write_job

IDS = ["run", "luminosityBlock", "event"]
LABELS = ("smearing", "bootstrap")
COLUMNS = ["SmearedMuon_pt", "BootstrapWeight"]
N_EVENTS = 700
SEED = 1
RESOLUTION = 0.02
N_WEIGHTS = 20
EXAMPLE = ROOT / "configs/smearing.py"
MODULES = f"python:{HERE / 'random_modules.py'}"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """700 events of 7 lumis."""
    folder = tmp_path_factory.mktemp("sample")
    made = forkrun("sample", "in.root", "--events", N_EVENTS, "--lumis", 7, cwd=folder)
    assert made.code == 0, made.err
    return folder / "in.root"


def read(path: Path) -> ak.Array:
    """Sorted by event id."""
    with uproot.open(path) as file:
        events = file["Events"].arrays([*IDS, "Muon_pt", *COLUMNS], library="ak")
    return events[np.lexsort([ak.to_numpy(events[name]) for name in reversed(IDS)])]


def expected(events: ak.Array) -> list[tuple[list[float], list[int]]]:
    """Smeared muons and weights, event by event, each on its own."""
    values = []
    for run, lumi, event, pt in zip(*(events[n] for n in [*IDS, "Muon_pt"]), strict=True):
        ids = (run, lumi, np.array([event], dtype=np.uint64))
        normal = BlockRandom(_core.BlockRandom(SEED, LABELS[0], *ids)).normal(
            1.0, RESOLUTION, size=len(pt)
        )
        weights = BlockRandom(_core.BlockRandom(SEED, LABELS[1], *ids)).poisson(1.0, N_WEIGHTS)
        smeared = (ak.to_numpy(pt).astype(np.float64) * normal[0]).astype(np.float32)
        values.append((smeared.tolist(), weights[0].tolist()))
    return values


@pytest.fixture(scope="module")
def right(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    run_example(sample, folder := tmp_path_factory.mktemp("right"), "--children", 0)
    return expected(read(folder / "run/output/events.root"))


def run_example(sample: Path, folder: Path, *options: object) -> None:
    config = ROOT / "configs/smearing.toml"
    ended = forkrun("run", config, sample, *options, "-o", "run", "-q", cwd=folder)
    assert (ended.code, ended.err) == (0, "")


def drawn(events: ak.Array) -> list[tuple[list[float], list[int]]]:
    return list(zip(*(events[name].to_list() for name in COLUMNS), strict=True))


LAYOUTS = [
    # children, threads, executor, block size, distribution
    (0, 1, "serial", 0, "lumi"),
    (1, 1, "tbb", 0, "lumi"),
    (1, 4, "tbb", 33, "lumi"),
    (2, 1, "serial", 1, "contiguous"),
    (2, 4, "tbb", 7, "round-robin"),
    (3, 1, "tbb", 0, "round-robin"),
    (3, 4, "tbb", 100, "contiguous"),
    (3, 4, "tbb", 1, "lumi"),
]


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("language", ["python", "cpp"])
@pytest.mark.parametrize(
    ("children", "threads", "executor", "block_size", "distribution"),
    [
        *LAYOUTS[3:5],
        *(pytest.param(*layout, marks=pytest.mark.long) for layout in LAYOUTS[:3] + LAYOUTS[5:]),
    ],
)
def test_an_event_gets_its_numbers_in_any_layout_in_python_and_in_cpp(
    sample: Path,
    right: list[Any],
    tmp_path: Path,
    children: int,
    threads: int,
    executor: str,
    block_size: int,
    distribution: str,
    language: str,
) -> None:
    options = {
        "forking.children": children,
        "forking.distribution": distribution,
        "forking.events_per_turn": 13,
        "threads.per_child": threads,
        "threads.executor": executor,
        "threads.block_size": block_size,
    }
    if language == "cpp":
        options["modules.smearing.type"] = "cpp:MuonSmearing"
        options["modules.bootstrap.type"] = "cpp:BootstrapWeights"
    pairs = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    run_example(sample, tmp_path, *pairs)
    events = read(tmp_path / "run/output/events.root")
    assert len(events) == N_EVENTS
    assert drawn(events) == right


def test_another_seed_gives_other_numbers(sample: Path, right: list[Any], tmp_path: Path) -> None:
    run_example(sample, tmp_path, "--set", "job.seed=2")
    others = drawn(read(tmp_path / "run/output/events.root"))
    same = sum(one[1] == other[1] for one, other in zip(right, others, strict=True))
    assert (len(others), same) == (N_EVENTS, 0)


def dying_job(sample: Path, folder: Path, *, once: bool) -> Path:
    """Its child is killed at an event in the middle, while the file `go-on` does not exist."""
    with uproot.open(sample) as file:
        middle = int(file["Events"]["event"].array(library="np")[N_EVENTS // 2])
    params = {"event": middle, "until": str(folder / "go-on"), "once": once}
    classes = zip(LABELS, ("MuonSmearing", "BootstrapWeights"), strict=True)
    job = {
        "job": {"seed": SEED},
        "source": {"files": [str(sample)]},
        "forking": {"children": 2},
        "threads": {"block_size": 50},
        "modules": [
            {"label": "dies", "type": f"{MODULES}:Dies", "params": params},
            *({"label": n, "type": f"python:{EXAMPLE}:{c}"} for n, c in classes),
        ],
        "paths": {"all": ["dies"]},
        "outputs": [{"label": "events", "paths": ["all"]}],
    }
    return write_job(folder, job)


def test_an_event_of_a_unit_that_is_done_again_gets_its_numbers(
    sample: Path, right: list[Any], tmp_path: Path
) -> None:
    job = dying_job(sample, tmp_path, once=True)
    ended = forkrun("run", job, "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert (tmp_path / "go-on").exists(), "no child was killed"
    assert drawn(read(tmp_path / "run/output/events.root")) == right


@pytest.mark.long
def test_a_job_that_is_resumed_with_more_children_gets_the_numbers(
    sample: Path, right: list[Any], tmp_path: Path
) -> None:
    job = dying_job(sample, tmp_path, once=False)
    assert forkrun("run", job, "-o", "run", "-q", cwd=tmp_path).code != 0
    n_before = len(ledger_units(tmp_path / "run"))
    (tmp_path / "go-on").touch()
    ended = forkrun("resume", "run", "--children", 3, "-q", "--no-plots", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert 0 < n_before < len(ledger_units(tmp_path / "run"))
    assert drawn(read(tmp_path / "run/output/events.root")) == right


def draws(label: str, column: str, stream: str = "") -> dict[str, Any]:
    params = {"column": column, "stream": stream}
    return {"label": label, "type": f"{MODULES}:Draws", "params": params}


def test_without_ids_file_and_entry_stand_for_the_event(tmp_path: Path) -> None:
    names = ("run", "luminosityBlock", "event")
    files = [
        write_events(tmp_path / f"{name}.root", [(1, 1, n)], without=names)
        for name, n in (("a", 40), ("b", 25))
    ]
    branches = {"run_branch": "", "lumi_branch": "", "event_branch": ""}
    job = {
        "job": {"seed": 9},
        "source": {"files": [str(file) for file in files], **branches},
        "forking": {"children": 2, "distribution": "round-robin", "events_per_turn": 7},
        "modules": [draws("toy", "x")],
        "outputs": [{"label": "events"}],
    }
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    with uproot.open(tmp_path / "run/output/events.root") as file:
        x = np.sort(file["Events"]["x"].array(library="np"))
    by_file = [
        BlockRandom(_core.BlockRandom(9, "toy", 1, lumi, np.arange(n, dtype=np.uint64))).random()
        for lumi, n in ((1, 40), (2, 25))
    ]
    assert np.array_equal(x, np.sort(np.concatenate(by_file)))


def test_modules_differ_unless_they_give_one_name(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 500)])
    job = jets_job([file])
    job["modules"] = [draws("a", "x"), draws("b", "y"), draws("c", "z", "b")]
    job["modules"].append({"label": "toss", "type": f"{MODULES}:Toss"})
    job["paths"] = {"half": ["toss"]}
    job["outputs"] = [{"label": "events", "paths": ["half"]}]
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    with uproot.open(tmp_path / "run/output/events.root") as output:
        x, y, z = (output["Events"][name].array(library="np") for name in "xyz")
        kept = output["Events"]["event"].array(library="np")
    events = np.arange(1, 501, dtype=np.uint64)
    toss = BlockRandom(_core.BlockRandom(0, "toss", 1, 1, events)).random() < 0.5
    assert np.array_equal(kept, events[toss])
    assert np.array_equal(y, z)
    assert not np.any(x == y)


def test_a_wrong_use_names_module_and_events(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 50)])
    job = jets_job([file])
    job["modules"] = [{"label": "bad", "type": f"{MODULES}:Refuses"}]
    job["paths"] = {"skim": ["bad"]}
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path)
    assert ended.code == 5
    assert '"bad"' in ended.err
    assert "random numbers: wanted" in ended.err


@pytest.mark.parametrize("seed", [-1, 2**64, "many", 1.5])
def test_a_seed_is_an_integer_of_64_bits(tmp_path: Path, seed: object) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 5)])
    job = write_job(tmp_path, jets_job([file], job={"seed": seed}))
    ended = forkrun("check", job, cwd=tmp_path)
    assert ended.code == 2
    assert "job.seed" in ended.err


def test_the_largest_seed_is_one(tmp_path: Path) -> None:
    file = write_events(tmp_path / "a.root", [(1, 1, 5)])
    job = write_job(tmp_path, jets_job([file], job={"seed": 2**64 - 1}))
    assert forkrun("check", job, cwd=tmp_path).code == 0
