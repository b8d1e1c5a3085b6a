"""All kinds of files that forkrun writes, of all kinds of input: ROOT opens each, and reads all of
it, without a word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forkrun.merge import merge_files
from tests.server.root_program import call_root
from tests.support import counted_file, object_file
from tests.support.files import write_events
from tests.support.jobs import forkrun, jets_job, write_job
from tests.support.leaves_file import write_leaves
from tests.support.members_file import write_members
from tests.support.object_file import write_objects
from tests.support.opened_by_root import open_with_root
from tests.support.related_file import write_related
from tests.support.rntuple_by_root import write_kinds
from tests.support.rntuple_pair import write_pair
from tests.support.shapes_file import write_shapes_file
from tests.support.twice_file import write_twice

N_EVENTS = {
    "rounded": 10, "branches": 300, "leaves": 50, "members": 50, "shapes": 50, "twice": 60,
    "related": 10, "tree": 150, "ntuple": 150, "kinds": 50, "beside": 40,
}  # fmt: skip
"""By kind of input. `rounded`: Float16 and Double32; `branches`, `members`: of objects; `twice`:
other trees, branches of one name; `related`: with an index and friends; `beside`: all objects."""
NO_IDS = dict.fromkeys(("run_branch", "lumi_branch", "event_branch"), "")


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, Path]:
    folder = tmp_path / "inputs"
    folder.mkdir()
    files = {name: folder / f"{name}.root" for name in N_EVENTS}
    call_root(counted_file.write_rounded, str(files["rounded"]))
    call_root(object_file.write_branches, str(files["branches"]))
    write_leaves(files["leaves"], 50, has_objects=True)
    write_members(files["members"], n_events=50)
    write_shapes_file(files["shapes"], n_events=50)
    write_twice(files["twice"])
    write_related(files["related"], 0)
    files["tree"], files["ntuple"] = write_pair(folder, "pair", 150)
    write_kinds(files["kinds"], 50, 505)
    events = write_events(folder / "events.root", [(1, 1, 40)])
    merge_files([events, Path(write_objects(folder / "objects.root", 1))], files["beside"])
    return files


def outputs_of(folder: Path, name: str, file: Path) -> Iterator[tuple[Path, int]]:
    """Files of a skim, new columns, all events in both formats, and merges of these; with how many
    events each has."""
    tree = "kinds" if name == "kinds" else "Events"
    job: dict[str, Any] = {
        "source": {"files": [str(file)], "tree": tree, **NO_IDS},
        "forking": {"children": 0},
        "modules": [
            {"label": "new", "type": "expression:event * 2", "kind": "producer"},
            {"label": "even", "type": "expression:event % 2 == 0", "kind": "filter"},
        ],
        "paths": {"even": ["even"]},
        "outputs": [
            {"label": "skim", "paths": ["even"]},
            {"label": "friend", "mode": "friend"},
            {"label": "trees", "format": "ttree"},
            {"label": "ntuple", "format": "rntuple", "keep": ["*", "new"]},
        ],
    }  # fmt: skip
    run = folder / name
    ended = forkrun("run", write_job(folder, job), "-o", run, "--no-plots", cwd=folder)
    assert ended.code == 0, (name, ended.err)
    n, output = N_EVENTS[name], run / "output"
    yield output / "skim.root", n // 2
    for label in ("friend", "trees", "ntuple"):
        yield output / f"{label}.root", n
    for made in (output / "trees.root", output / "ntuple.root"):
        for recluster in ("never", "always"):
            merged = run / f"{made.stem}-{recluster}.root"
            merge_files([made, made], merged, recluster=recluster)
            yield merged, 2 * n


def histograms(folder: Path) -> list[Path]:
    """Of a job, and of two that are merged."""
    events = write_events(folder / "events.root", [(1, 1, 20), (1, 2, 20)])
    run = folder / "jets"
    job = write_job(folder, jets_job([events]))
    assert forkrun("run", job, "-o", run, "--no-plots", cwd=folder).code == 0
    made, merged = run / "output/histograms.root", folder / "histograms.root"
    merge_files([made, made], merged)
    return [made, merged]


@pytest.mark.long
def test_root_opens_whatever_is_written_without_a_word(
    tmp_path: Path, inputs: dict[str, Path]
) -> None:
    made = [each for name, file in inputs.items() for each in outputs_of(tmp_path, name, file)]
    files = [file for file, _ in made]
    found = open_with_root([*files, *histograms(tmp_path)])
    for (file, n_events), contents in zip(made, found, strict=False):
        table = contents.get("Events") or contents["kinds"]
        assert table[0] == n_events, file
        assert file.parts[-3] != "beside" or file.stem == "friend" or "folder/TH1D" in contents
    assert all(contents for contents in found)
