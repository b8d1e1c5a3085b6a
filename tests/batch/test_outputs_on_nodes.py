"""Outputs that nodes make where they have read the input: the events of one node, joined without
the input."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import uproot

from tests.merge.test_carried import lumi_mask, write_source
from tests.support.jobs import Ended, forkrun, jets_job, write_job

ON_NODES = ("--set", "batch.outputs=on nodes")


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
    """Of some units in each lumi, so that lumis and files are shared by nodes."""
    forking = {"children": 2, "max_unit_events": 7}
    job = jets_job(files, **{"outputs": OUTPUTS, "forking": forking, **sections})
    return write_job(folder, job)


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
