"""Outputs that nodes make where they have read the input: the events of one node, joined without
the input."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import uproot

from forkrun.base.durable import read_json
from forkrun.merge.node_outputs import forget_outputs
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.ledger import read_ledgers, revoke
from forkrun.rundir.nodes import NodeRanges
from tests.batch.failures import ON_NODES, run_round, truth_of_nodes
from tests.batch.jobs import Job, status_of
from tests.batch.test_datasets import FILES, FILL, LACKS, described, write
from tests.batch.test_friends import write_files, write_friends
from tests.batch.test_friends import write_job as job_with_friends
from tests.index.test_trees_with_events import add_tree, two_files
from tests.index.test_trees_with_events import job as job_with_trees
from tests.merge.test_carried import lumi_mask, write_source
from tests.support import lcio_files
from tests.support.fault_proxy import fault_proxy
from tests.support.files import write_events
from tests.support.jobs import Ended, forkrun, jets_job, output_digests, write_job
from tests.support.xrootd_server import xrootd_server


def content(run: Path) -> dict[str, Any]:
    """All that outputs hold, by file and by name in it; of files without columns their bytes."""
    output = run / "output"
    files = [file for file in sorted(output.rglob("*")) if file.is_file()]
    return {str(file.relative_to(output)): content_of(file) for file in files}


def content_of(file: Path) -> Any:
    if file.suffix == ".parquet":
        return pq.read_table(file).to_pylist()
    if file.suffix != ".root":
        return file.read_bytes()
    with uproot.open(file) as opened:
        names = dict.fromkeys(name.partition(";")[0] for name in opened.keys(cycle=False))
        return {name: _object(opened[name]) for name in names}


def _object(found: Any) -> Any:
    if hasattr(found, "arrays"):
        return found.typenames(), found.arrays(library="ak").to_list()
    if hasattr(found, "axis"):
        return found.values().tolist()
    return str(found) if isinstance(found, str) else None


def submit(config: Path, run: str, n_nodes: int, *options: object) -> None:
    shape = ("--on", "local", "--dry-run", "-o", run, "--nodes", n_nodes)
    ended = forkrun("submit", config, *shape, *ON_NODES, *options, cwd=config.parent)
    assert ended.code == 0, ended.err


def run_nodes(run: Path, numbers: Sequence[int], *options: object) -> None:
    for number in numbers:
        ended = forkrun("node", run, number, "-q", *options, cwd=run.parent)
        assert ended.code == 0, ended.err


@contextmanager
def no_input(folder: Path) -> Iterator[None]:
    """No file of the input is where it was."""
    hidden = folder / "hidden"
    hidden.mkdir()
    inputs = [f for f in folder.iterdir() if f.suffix in (".root", ".slcio")]
    for file in inputs:
        file.rename(hidden / file.name)
    yield
    for file in inputs:
        (hidden / file.name).rename(file)
    hidden.rmdir()


def collect(run: Path, *options: object) -> Ended:
    with no_input(run.parent):
        return forkrun("collect", run, "-q", *options, cwd=run.parent)


def collected(run: Path) -> dict[str, Any]:
    """What outputs hold that were made without the input."""
    ended = collect(run)
    assert ended.code == 0, ended.err
    report = json.loads((run / "report.json").read_bytes())["events"]
    assert report["digests_agree"]
    assert report["n_events_read"] == report["n_events_planned"]
    return content(run)


def of_one_node(config: Path, *options: object) -> dict[str, Any]:
    ended = forkrun("run", config, "-o", "one", "-q", *options, cwd=config.parent)
    assert ended.code == 0, ended.err
    return content(config.parent / "one")


def write_input(folder: Path, n_files: int = 4) -> list[Path]:
    """With two trees and a histogram beside the events."""
    files = [write_source(folder / f"{n}.root", n) for n in range(n_files)]
    for n, file in enumerate(files):
        with uproot.update(file) as opened:
            opened["weights"] = np.histogram([0.5 + n], bins=5, range=(0, 5))
    return files


OUTPUTS = [
    {"label": "skim", "paths": ["skim"], "decisions": True, "parquet": True},
    {"label": "all", "compression": "lz4:4"},
    {"label": "new", "mode": "friend"},
    {"label": "rows", "format": "parquet", "paths": ["skim"]},
    {"label": "each", "per_lumi": True, "paths": ["skim"]},
]


def write_skim(folder: Path, files: Sequence[Path], **sections: Any) -> Path:
    """A job of some units in each lumi, so that nodes share lumis and files."""
    forking = {"children": 1, "max_unit_events": 7}
    job = jets_job(files, **{"outputs": OUTPUTS, "forking": forking, **sections})
    return write_job(folder, job)


@pytest.mark.slow
def test_outputs_have_the_events_and_rows_of_one_node_and_are_joined_without_the_input(
    tmp_path: Path,
) -> None:
    """A node has no events of the file whose lumis the mask does not have, and its rows."""
    mask = lumi_mask(tmp_path, {0: (1, 3), 1: (1, 3), 3: (1, 2)})
    config = write_skim(tmp_path, write_input(tmp_path), source={"lumi_mask": mask})
    one = of_one_node(config)
    submit(config, "run", 4)
    run_nodes(tmp_path / "run", range(4))
    found = collected(tmp_path / "run")
    assert len(one["skim.root"]["Runs"][1]) == 4
    assert sum(one["skim.root"]["weights"]) == 4
    assert list(found) == list(one)
    for name, of_file in one.items():
        assert found[name] == of_file, name
    for name in ("processedLumis.json", "notFinishedLumis.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
    assert not list((tmp_path / "run").glob("nodes/*/output"))


@pytest.mark.long
def test_an_rntuple_has_the_events_of_one_node(tmp_path: Path) -> None:
    tree = write_input(tmp_path, 2)
    files = []
    for file in tree:
        ended = forkrun("convert", file, f"n{file.name}", "--trees", "Events", cwd=tmp_path)
        assert ended.code == 0, ended.err
        files.append(tmp_path / f"n{file.name}")
    config = write_skim(tmp_path, files, outputs=[*OUTPUTS[:1], *OUTPUTS[2:]])
    one = of_one_node(config)
    submit(config, "run", 3)
    run_nodes(tmp_path / "run", range(3))
    assert "new.root" in one
    assert collected(tmp_path / "run") == one


@pytest.mark.slow
def test_lcio_has_the_bytes_of_one_node(tmp_path: Path) -> None:
    for n in (0, 1):
        runs = {2 * n: range(20), 2 * n + 1: range(100, 115)}
        lcio_files.write_events(tmp_path / f"{n}.slcio", runs)
    job = {
        "source": {"files": str(tmp_path / "*.slcio")},
        "modules": [
            {"label": "some", "type": "expression:event % 3 != 0", "kind": "filter"},
            {"label": "twice", "type": "expression:event * 0.5", "kind": "producer"},
        ],
        "paths": {"some": ["some"]},
        "outputs": [
            {"label": "new", "paths": ["some"]},
            {"label": "kept", "paths": ["some"], "drop": ["twice"]},
        ],
        "forking": {"children": 1, "max_unit_events": 6},
    }
    config = write_job(tmp_path, job)
    one = of_one_node(config)
    submit(config, "run", 3)
    run_nodes(tmp_path / "run", range(3))
    assert {name.partition(".")[2] for name in one} == {"slcio"}
    assert collected(tmp_path / "run") == one


@pytest.mark.long
def test_lumis_that_several_nodes_have_are_in_one_file_each(tmp_path: Path) -> None:
    """They are scattered over files of which the last comes first, and gathered; rows beside events
    stay in the order of the files."""
    files = []
    for n in range(4):
        lumis = [(1, lumi, 10) for lumi in range(4 - n, 7)]
        files.append(write_events(tmp_path / f"{n}.root", lumis, 1 + 100 * n))
        add_tree(files[n], "Runs", {"n": np.array([n])})
    outputs = [{"label": "each", "per_lumi": True}, {"label": "all"}]
    config = write_skim(tmp_path, files, outputs=outputs, source={"order": "sorted"})
    one = of_one_node(config)
    submit(config, "run", 3)
    run_nodes(tmp_path / "run", range(3))
    made = list((tmp_path / "run").glob("nodes/*/output/each/*.root"))
    assert len(made) > len({file.name for file in made}) == 6
    found = collected(tmp_path / "run")
    assert [row["n"] for row in found["all.root"]["Runs"][1]] == [0, 1, 2, 3]
    assert found == one


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("mask", [None, {"9": [[1, 1]]}], ids=["all", "no-data"])
def test_each_dataset_has_what_it_has_on_one_node(
    tmp_path: Path, mask: dict[str, Any] | None
) -> None:
    """One without an event is made of the input, which gives its columns."""
    for dataset, names in FILES.items():
        for name in names:
            write(tmp_path, name, LACKS[dataset], sums=dataset != "data")
    kept = {"paths": ["p"], "keep": ["*", "lumi_weight"]}
    outputs = [{"label": "kept", **kept}, {"label": "both", "datasets": "together", **kept}]
    source: dict[str, Any] = dict(FILL)
    if mask:
        (tmp_path / "mask").write_text(json.dumps(mask))
        source["lumi_mask"] = str(tmp_path / "mask")
    config = write_job(tmp_path, described(tmp_path, source, outputs=outputs))
    one = of_one_node(config)
    submit(config, "run", 4)
    run_nodes(tmp_path / "run", range(4))
    if mask is None:
        assert collected(tmp_path / "run") == one
    else:
        ended = forkrun("collect", tmp_path / "run", "-q", cwd=tmp_path)
        assert ended.code == 0, ended.err
        assert content(tmp_path / "run") == one


@pytest.mark.long
def test_trees_that_go_with_the_events_are_joined_with_them(tmp_path: Path) -> None:
    config = job_with_trees(
        tmp_path, two_files(tmp_path), forking={"children": 1, "max_unit_events": 20}
    )
    one = of_one_node(config)
    submit(config, "run", 3)
    run_nodes(tmp_path / "run", range(3))
    assert {"JetSys_up", "JetSys_down", "Runs"} < set(one["skim.root"])
    assert collected(tmp_path / "run") == one


@pytest.mark.long
def test_friends_are_read_by_nodes(tmp_path: Path) -> None:
    write_files(tmp_path, range(3))
    config = job_with_friends(tmp_path, write_friends(tmp_path, 3))
    one = of_one_node(config)
    submit(config, "run", 4)
    run_nodes(tmp_path / "run", range(4))
    assert collected(tmp_path / "run") == one


@pytest.mark.long
def test_bytes_depend_on_the_nodes_alone(tmp_path: Path) -> None:
    """Neither on children and threads, nor on tries, nor on where nodes work."""
    config = write_skim(tmp_path, write_input(tmp_path, 3))
    digests = []
    for name, children in (("one-child", 1), ("two", 2)):
        submit(config, name, 2, "--children", children, "--set", "threads.per_child=2")
        run_nodes(tmp_path / name, range(2))
        digests.append(digests_of(collect_files(tmp_path / name)))
    copy = 'batch.stage_in="cp {source} {target}"'
    submit(config, "staged", 2, "--set", f"batch.scratch={tmp_path}", "--set", copy)
    for _ in range(2):
        run_nodes(tmp_path / "staged", range(2), "--scratch", tmp_path)
    assert [file for file in tmp_path.iterdir() if file.name.startswith("forkrun-")] == []
    digests.append(digests_of(collect_files(tmp_path / "staged")))
    assert digests[0] == digests[1] == digests[2]


def collect_files(run: Path) -> Path:
    ended = collect(run)
    assert ended.code == 0, ended.err
    return run


def digests_of(run: Path) -> dict[str, str]:
    return output_digests(run) | {
        str(f.relative_to(run)): f.read_bytes().hex() for f in run.glob("output/*.parquet")
    }


@dataclass(frozen=True)
class Done:
    """A job on two nodes, which are done."""

    folder: Path
    one: dict[str, Any]
    """What outputs hold that one node has made."""

    def copy(self, name: str) -> Path:
        return Path(shutil.copytree(self.folder / "done", self.folder / name))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("two")
    config = write_skim(folder, write_input(folder, 2))
    submit(config, "done", 2)
    run_nodes(folder / "done", range(2))
    return Done(folder, of_one_node(config))


@pytest.mark.slow
def test_a_node_with_a_damaged_output_makes_it_again(done: Done) -> None:
    run = done.copy("damaged")
    run_nodes(run, range(2))  # one that is done has nothing to do
    damaged = run / "nodes/0001/output/all.root"
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    ended = collect(run)
    assert ended.code == 6
    assert "node 1: nodes/0001/output/all.root is not as it was written (checksum)" in ended.err
    assert f"forkrun resubmit {run}" in ended.err
    assert [node["state"] for node in status_of(run)["nodes"]] == ["done", "not submitted"]
    ended = collect(run)
    assert ended.code == 5
    assert "1 of 2 nodes is not done (node 1: its outputs)" in ended.err
    before = read_json(run / "nodes/0001/fingerprint.json")
    run_nodes(run, [1])
    assert read_json(run / "nodes/0001/fingerprint.json") == before
    assert collected(run) == done.one


@pytest.mark.long
def test_what_is_there_is_joined_without_nodes_that_are_not_done(tmp_path: Path) -> None:
    """A node whose units are done, and not its outputs, is not done."""
    config, run = write_skim(tmp_path, write_input(tmp_path, 3)), tmp_path / "run"
    submit(config, "run", 3)
    run_nodes(run, [0, 1])
    forget_outputs(RunDirectory(run).node(1))
    ended = collect(run, "--partial")
    assert ended.code == 11, ended.err
    events = content_of(run / "partial/all.root")["Events"][1]
    n_events = NodeRanges.read(RunDirectory(run)).n_events
    assert [event["event"] for event in events] == list(range(1, n_events[0] + 1))
    nodes = status_of(run)["nodes"]
    assert [node["state"] for node in nodes] == ["done", "not submitted", "not submitted"]
    assert nodes[1]["n_units"] == nodes[1]["n_units_planned"]
    run_nodes(run, [1, 2])
    assert collected(run) == of_one_node(config)


@pytest.mark.slow
def test_commits_that_do_not_hold_any_more_are_processed_and_put_out_again(done: Done) -> None:
    run = done.copy("revoked")
    node = RunDirectory(run).node(0)
    revoke(node.ledger, [(read_ledgers(node.ledger)[0], "a test says so")])
    run_nodes(run, [0])
    assert collected(run) == done.one


@pytest.mark.long
def test_new_files_are_joined_behind_what_nodes_have_made(tmp_path: Path) -> None:
    files = write_input(tmp_path, 2)
    run, config = tmp_path / "run", write_skim(tmp_path, files[:1])
    kept = ("--set", "merge.keep_temporary=true")
    submit(config, "run", 2, *kept)
    run_nodes(run, range(2))
    assert collect(run).code == 0
    config = write_skim(tmp_path, files)
    submit(config, "run", 2, "--extend", *kept)
    run_nodes(run, range(2, 4))
    assert collected(run) == of_one_node(config)


def test_what_nodes_put_out_is_not_made_in_parts_by_others(tmp_path: Path) -> None:
    config = write_skim(tmp_path, write_input(tmp_path, 1))
    both = ("--set", "batch.outputs=on nodes", "--set", "batch.merge_jobs=2")
    for command in ("check", "submit"):
        ended = forkrun(command, config, *both, cwd=tmp_path)
        assert ended.code == 2
        assert "batch: merge_jobs make parts of outputs, which with outputs =" in ended.err
    submit(config, "run", 2)
    ended = forkrun("collect", tmp_path / "run", "--part", "0/2", cwd=tmp_path)
    assert ended.code == 2
    assert "the nodes make the parts" in ended.err


@pytest.mark.slow
def test_collecting_reads_nothing_over_the_link(tmp_path: Path) -> None:
    """Nodes read the input, and what they give is as large as what was selected."""
    n_bytes = {}
    with xrootd_server() as server, fault_proxy(server.port) as proxy:
        for file in write_input(tmp_path, 2):
            shutil.copy(file, server.data)
        urls = [server.url(f"{n}.root").replace(str(server.port), str(proxy.port))
                for n in range(2)]  # fmt: skip
        config = write_skim(tmp_path, [], source={"files": urls})
        for run, options in (("collect", ()), ("nodes", ON_NODES)):
            shape = ("--on", "local", "--dry-run", "-o", run, "--nodes", 2)
            ended = forkrun("submit", config, *shape, *options, cwd=tmp_path)
            assert ended.code == 0, ended.err
            run_nodes(tmp_path / run, range(2))
            before = proxy.n_bytes
            ended = forkrun("collect", run, "-q", cwd=tmp_path)
            assert ended.code == 0, ended.err
            n_bytes[run] = proxy.n_bytes - before
    assert n_bytes["collect"] > 10_000
    assert n_bytes["nodes"] == 0
    assert content(tmp_path / "nodes") == content(tmp_path / "collect")


@pytest.mark.long
@pytest.mark.parametrize("is_staged", [False, True], ids=["shared", "scratch"])
def test_nodes_that_are_killed_make_the_same_bytes(tmp_path: Path, is_staged: bool) -> None:
    job = Job.make(tmp_path, n_lumis=20, time_s=0.01)
    truth, scratch = truth_of_nodes(job, 2), tmp_path if is_staged else None
    done = run_round(job, 1, 3, 2, scratch=scratch, is_staged=is_staged, truth=truth)
    assert done.problem == ""
    assert done.n_failures
