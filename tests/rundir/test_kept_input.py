"""A job with other input in the directory of a finished one processes the events that are new."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forkrun.errors import EVENTS_LEFT_OUT
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import Commit, read_ledgers
from forkrun.rundir.results import Store
from tests.support.files import write_events
from tests.support.jobs import (
    PATIENCE_S,
    Ended,
    environment,
    forkrun,
    output_digests,
    running,
    write_job,
)

N_CHANGES = int(os.environ.get("FORKRUN_INPUTS", "5"))
"""Changes of the random test."""
SEED = 4107
"""Of the changes, unless FORKRUN_SEED or FORKRUN_INPUTS is set."""
CHANGES = (
    "add", "insert", "remove", "rewrite", "limit", "mask", "dataset", "lose", "order", "axis",
    "outputs", "outputs",
)  # fmt: skip
OWN = """
import numpy as np
import forkrun

class Last(forkrun.Analyzer):
    consumes = ("event",)
    def analyze(self, block):
        events = block.selected
        self.accumulate("events", [int(n) for n in events.events if n % 10 == 0])
        self.accumulate("n", len(events))

def early(events):
    return events.event % 3 != 0

def scaled(events):
    return events.Jet_pt * 2.5
"""
SKIM = {"label": "skim", "paths": ["all"]}
OUTPUTS: tuple[list[dict[str, Any]], ...] = (
    [], [SKIM, {"label": "every", "keep": ["run", "luminosityBlock", "event", "scaled"]}], [SKIM],
    [{**SKIM, "per_lumi": True}], [{**SKIM, "datasets": "together"}],
    [{**SKIM, "compression": "zlib:3"}], [{**SKIM, "format": "rntuple", "decisions": True}],
)  # fmt: skip
COUNTS = {
    "label": "counts", "type": "expression:num(Jet_pt)", "kind": "histogram",
    "axes": [{"bins": 6, "low": 0, "high": 6}],
}  # fmt: skip


class Input:
    """Files of datasets; file n has lumis of run n, and its own events."""

    def __init__(self, folder: Path) -> None:
        (folder / "own.py").write_text(OWN)
        self.folder, self.n_files = folder, 0
        self.files = {name: [self.new(), self.new()] for name in ("one", "two", "three")}
        self.source: dict[str, Any] = {}
        self.modules = [
            {"label": "early", "type": f"python:{folder}/own.py:early", "kind": "filter"},
            {"label": "last", "type": f"python:{folder}/own.py:Last"},
            COUNTS,
            {"label": "scaled", "type": f"python:{folder}/own.py:scaled", "kind": "producer"},
        ]
        self.outputs: list[dict[str, Any]] = []

    def new(self) -> Path:
        self.n_files += 1
        return self.write(self.folder / f"f{self.n_files}.root", 40 + self.n_files)

    def write(self, path: Path, n_events: int) -> Path:
        number = int(path.stem[1:])
        return write_events(path, [(number, 1, n_events), (number, 2, 20)], 1000 * number)

    def job(self, children: int = 2) -> dict[str, Any]:
        datasets = [
            {"name": name, "files": [str(file) for file in files], "is_data": True}
            for name, files in self.files.items()
        ]
        return {
            "source": self.source,
            "datasets": datasets,
            "forking": {"children": children},
            "modules": self.modules,
            "paths": {"all": ["early", "last", "counts"]},
            "outputs": self.outputs,
        }


@pytest.fixture
def given(tmp_path: Path) -> Input:
    return Input(tmp_path)


def run(folder: Path, job: dict[str, Any], *options: object, name: str = "run") -> Ended:
    ended = forkrun("run", write_job(folder, job), "-o", name, "-q", *options, cwd=folder)
    assert ended.code == 0, ended.err
    return ended


def commits(folder: Path) -> list[Commit]:
    return read_ledgers(RunDirectory(folder / "run").ledger)


def n_processed(folder: Path) -> int:
    """Events that the last run has processed itself."""
    return sum(commit.n_events for commit in commits(folder) if not commit.computed_s)


def content(run: Path) -> dict[str, Any]:
    """All that must be as from scratch: outputs, lumis, and counts of the report."""
    report = json.loads((run / "report.json").read_text())
    assert report["job"]["outcome"] == "done"
    assert report["events"]["digests_agree"] is not False  # None: max_events is within a lumi
    lumis = {
        str(file.relative_to(run)): json.loads(file.read_text())
        for file in sorted(run.glob("*Lumis/*.json"))
    }
    accumulated = json.loads((run / "output/accumulators.json").read_text())
    names = ("n_events_read", "digest_read", "n_lumis_committed", "n_files", "nan_fills")
    events = {name: report["events"][name] for name in names}
    return {
        **output_digests(run), **lumis, **events, "accumulated": accumulated,
        "cutflow": report["cutflow"], "datasets": report["datasets"],
    }  # fmt: skip


def check_as_from_scratch(folder: Path, job: dict[str, Any]) -> None:
    report = json.loads((folder / "run/report.json").read_text())
    for result in report["results"]:
        n_events = [run["n_events"] for run in result["runs"]]
        assert result["digests_agree"], result
        assert sum(n_events) == report["events"]["n_events_read"]
    run(folder, job, "--force", name="scratch")
    assert content(folder / "run") == content(folder / "scratch")


@pytest.mark.slow
def test_files_that_are_added_are_processed_alone(tmp_path: Path, given: Input) -> None:
    run(tmp_path, given.job())
    given.files["two"].append(given.new())
    ended = forkrun("run", write_job(tmp_path, given.job()), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    said = "kept 381 of 448 events of 2 histograms; computing the others (new or changed input:"
    assert said in ended.err
    assert n_processed(tmp_path) == 67
    before = [commit for commit in commits(tmp_path) if commit.computed_s]
    assert sum(commit.n_events for commit in before) == 381
    assert all(commit.computed_s < commit.start_s for commit in before)
    report = json.loads((tmp_path / "run/report.json").read_text())
    runs = [[run["n_events"] for run in each["runs"]] for each in report["results"]]
    assert runs == [[381, 67]] * 3
    assert "Runs that computed the results" in (tmp_path / "run/report.txt").read_text()
    check_as_from_scratch(tmp_path, given.job())
    ended = forkrun("run", write_job(tmp_path, given.job()), "-o", "run", cwd=tmp_path)
    assert "already done" in ended.err


@pytest.mark.slow
@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("outputs", OUTPUTS[1:])
def test_outputs_are_made_of_stored_and_new_events(
    tmp_path: Path, given: Input, outputs: list[dict[str, Any]]
) -> None:
    given.outputs = outputs
    run(tmp_path, given.job())
    given.files["one"].insert(0, given.new())
    run(tmp_path, given.job())
    assert n_processed(tmp_path) == 67
    check_as_from_scratch(tmp_path, given.job())
    given.outputs = [{**outputs[0], "compression": "lz4:2"}, *outputs[1:]]
    ended = forkrun("run", write_job(tmp_path, given.job()), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "made of stored events" in ended.err
    assert n_processed(tmp_path) == 0
    check_as_from_scratch(tmp_path, given.job())
    del given.files["two"]
    run(tmp_path, given.job())
    has_numbers = outputs[0].get("datasets") == "together"  # of datasets, in a column
    assert n_processed(tmp_path) == (321 if has_numbers else 0)
    check_as_from_scratch(tmp_path, given.job())


@pytest.mark.slow
def test_an_event_that_is_left_out_does_not_spoil_kept_ones(tmp_path: Path, given: Input) -> None:
    deadly = "def early(events):\n    if 7003 in events.event: raise ValueError\n"
    (tmp_path / "own.py").write_text(OWN.replace("def early(events):\n", deadly))
    job = {**given.job(), "recovery": {"on_bad_event": "skip"}}
    run(tmp_path, job)
    given.files["two"].append(given.new())
    job["datasets"] = given.job()["datasets"]
    for name in ("run", "scratch"):
        ended = forkrun("run", write_job(tmp_path, job), "-o", name, "-q", cwd=tmp_path)
        assert ended.code == EVENTS_LEFT_OUT, ended.err
    assert n_processed(tmp_path) == 66
    assert output_digests(tmp_path / "run") == output_digests(tmp_path / "scratch")


@pytest.mark.slow
def test_many_pieces_are_joined(tmp_path: Path, given: Input) -> None:
    """Runs after each added file, in a process where more than four pieces are many."""
    given.outputs = [SKIM]
    jobs = []
    for name in ("one", "two", "one", "one"):
        given.files[name].append(given.new())
        jobs.append(given.job())
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    program = (
        "import json, forkrun; from forkrun.merge import joined_pieces as joined, kept\n"
        "joined.N_PIECES = kept.N_PIECES = 3; joined._MOST_PIECES = 4\n"
        "for job in json.load(open('jobs.json')):\n"
        "    json.dump(job, open('job.json', 'w'))\n"
        "    forkrun.load('job.json').run(0, output='run', quiet=True)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert n_processed(tmp_path) == 70
    stored = Store.read(RunDirectory(tmp_path / "run"))
    assert max(len(each.pieces) for each in stored.results) == 6  # 7 without
    assert max(len(part.origins) for part in stored.inputs.values()) > 1
    given.files["two"].insert(0, given.new())
    run(tmp_path, given.job())
    assert n_processed(tmp_path) == 71
    check_as_from_scratch(tmp_path, given.job())


@pytest.mark.slow
def test_pieces_of_a_histogram_need_not_be_those_of_an_output(tmp_path: Path, given: Input) -> None:
    given.outputs = [SKIM]
    run(tmp_path, given.job())
    axes = [{"bins": 3, "low": 0, "high": 6}]
    given.modules = [{**m, "axes": axes} if m is COUNTS else m for m in given.modules]
    run(tmp_path, given.job(children=1))
    given.files["one"].insert(0, given.new())
    run(tmp_path, given.job())
    assert n_processed(tmp_path) == 67
    check_as_from_scratch(tmp_path, given.job())


@pytest.mark.slow
def test_pieces_without_selected_events_are_kept(tmp_path: Path, given: Input) -> None:
    given.outputs = [{**SKIM, "paths": ["none"]}]
    (tmp_path / "own.py").write_text(OWN + "\ndef none(events): return events.event < 0\n")
    none = {"label": "none", "type": f"python:{tmp_path}/own.py:none", "kind": "filter"}
    given.modules.append(none)
    job = {**given.job(), "paths": {"all": ["early", "last", "counts"], "none": ["none"]}}
    run(tmp_path, job)
    given.files["one"].insert(0, given.new())
    job = {**given.job(), "paths": job["paths"]}
    run(tmp_path, job)
    assert n_processed(tmp_path) == 67
    check_as_from_scratch(tmp_path, job)


@pytest.mark.slow
def test_large_fragments_are_stored_as_links(tmp_path: Path, given: Input) -> None:
    given.outputs = [SKIM]
    write_job(tmp_path, given.job())
    program = (
        "import forkrun; from forkrun.rundir import results; results._MOST_JOINED_BYTES = 0;"
        " forkrun.load('job.json').run(0, output='run', quiet=True)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment(), check=True)
    n_fragments = len(list((tmp_path / "run/results").glob("*.*.fragment")))
    assert n_fragments == sum(1 for commit in commits(tmp_path) if commit.outputs)
    given.files["one"].insert(0, given.new())
    run(tmp_path, given.job())
    assert n_processed(tmp_path) == 67
    check_as_from_scratch(tmp_path, given.job())


@pytest.mark.slow
def test_a_damaged_fragment_is_processed_again(tmp_path: Path, given: Input) -> None:
    given.outputs = [SKIM]
    run(tmp_path, given.job())
    fragment = sorted((tmp_path / "run/results").glob("*.fragment"))[0]
    state = fragment.stat()
    data = bytearray(fragment.read_bytes())
    data[len(data) // 2] ^= 1
    fragment.write_bytes(data)
    os.utime(fragment, ns=(state.st_atime_ns, state.st_mtime_ns))
    given.files["three"].append(given.new())
    run(tmp_path, given.job())
    assert 67 < n_processed(tmp_path) < 448
    check_as_from_scratch(tmp_path, given.job())


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_dataset_that_is_added_is_processed_alone(
    tmp_path: Path, given: Input, place: int
) -> None:
    run(tmp_path, given.job())
    files = list(given.files.items())
    given.files = dict([*files[:place], ("more", [given.new()]), *files[place:]])
    run(tmp_path, given.job())
    assert n_processed(tmp_path) == 67
    check_as_from_scratch(tmp_path, given.job())
    del given.files["two"]
    run(tmp_path, given.job())
    assert n_processed(tmp_path) == 0
    check_as_from_scratch(tmp_path, given.job())


@pytest.mark.slow
def test_a_kill_loses_neither_kept_nor_new_events(tmp_path: Path, given: Input) -> None:
    run(tmp_path, given.job())
    given.files["one"] += [given.new(), given.new()]
    job = given.job()
    chaos = [{"fault": "kill_parent", "at": "after_ledger"}]
    with running(
        "run", write_job(tmp_path, job), "-o", "run", "-q", cwd=tmp_path,
        env=environment(FORKRUN_CHAOS=json.dumps(chaos)),
    ) as process:  # fmt: skip
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -signal.SIGKILL
    assert sum(commit.n_events for commit in commits(tmp_path) if commit.computed_s) == 381
    ended = forkrun("run", write_job(tmp_path, job), "-o", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert n_processed(tmp_path) == 67 + 68
    check_as_from_scratch(tmp_path, job)


@pytest.mark.long
def test_modules_with_callbacks_of_lumis_compute_other_input_as_a_whole(
    tmp_path: Path, given: Input
) -> None:
    with (tmp_path / "own.py").open("a") as file:
        file.write("\nclass OfLumis(Last):\n    def begin_lumi(self, run, lumi): pass\n")
    given.modules[1] = {"label": "last", "type": f"python:{tmp_path}/own.py:OfLumis"}
    run(tmp_path, given.job())
    given.files["two"].append(given.new())
    run(tmp_path, given.job())
    assert n_processed(tmp_path) == 448
    run(tmp_path, given.job())
    check_as_from_scratch(tmp_path, given.job())


@pytest.mark.long
def test_a_changed_function_and_a_new_file_compute_what_each_concerns(
    tmp_path: Path, given: Input
) -> None:
    run(tmp_path, given.job())
    given.modules[2] = {**COUNTS, "axes": [{"bins": 3, "low": 0, "high": 6}]}
    ended = forkrun("run", write_job(tmp_path, given.job()), "-o", "run", cwd=tmp_path)
    assert "kept 1 of 2 histograms; computing counts (changed: histogram counts)" in ended.err
    given.files["three"].append(given.new())
    given.files["one"].pop()
    run(tmp_path, given.job())
    assert 67 <= n_processed(tmp_path) <= 67 + 61  # a commit may have events of two files
    check_as_from_scratch(tmp_path, given.job())


@pytest.mark.long
def test_random_changes_of_the_input_give_the_bytes_of_a_run_from_scratch(
    tmp_path: Path, given: Input
) -> None:
    another = random.randrange(1 << 30) if "FORKRUN_INPUTS" in os.environ else SEED
    seed = int(os.environ.get("FORKRUN_SEED", another))
    rng = random.Random(seed)
    run(tmp_path, given.job())
    for number in range(N_CHANGES):
        changed = [change(given, rng) for _ in range(rng.choice([1, 1, 2]))]
        print(f"FORKRUN_SEED={seed}, change {number}: {', '.join(changed)}")
        job = given.job(rng.choice([0, 2]))
        run(tmp_path, job)
        run(tmp_path, job, "--force", name="scratch")
        where = f"{', '.join(changed)}: change {number} of FORKRUN_SEED={seed}"
        assert content(tmp_path / "run") == content(tmp_path / "scratch"), where


def change(given: Input, rng: random.Random) -> str:
    """Changes the input, or a histogram, at random; says what."""
    files = given.files[rng.choice(list(given.files))]
    what = rng.choice(CHANGES)
    if what == "add":
        files.append(given.new())
    elif what == "insert":
        files.insert(rng.randrange(len(files)), given.new())
    elif what == "remove" and len(files) > 1:
        files.pop(rng.randrange(len(files)))
    elif what == "rewrite":
        given.write(rng.choice(files), rng.randrange(30, 60))
    elif what == "limit":
        given.source = {**given.source, "max_events": rng.choice([None, 200, 330])}
    elif what == "mask":
        runs = {str(n): [[1, rng.choice([1, 2])]] for n in range(1, 30)}
        (given.folder / "mask.json").write_text(json.dumps(runs))
        given.source = {**given.source, "lumi_mask": str(given.folder / "mask.json")}
    elif what == "dataset":
        given.files[f"more{given.n_files}"] = [given.new()]
    elif what == "outputs":
        given.outputs = list(rng.choice(OUTPUTS))
    elif what == "lose" and len(given.files) > 2:
        del given.files[rng.choice(list(given.files))]
    elif what == "order":
        given.files = dict(sorted(given.files.items(), key=lambda _: rng.random()))
    elif what == "axis":
        given.modules[2] = {**COUNTS, "axes": [{"bins": rng.randrange(2, 9), "low": 0, "high": 6}]}
    return what
