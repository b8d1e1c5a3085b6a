"""Lists, whose lengths are counted in any type and place: ROOT reads of outputs what hadd's has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forkrun.merge import merge_files
from tests.server.root_program import call_root
from tests.support import counted_file
from tests.support.jobs import forkrun, write_job
from tests.support.object_file import hadd
from tests.support.opened_by_root import open_with_root

KINDS = [(kind, in_list) for kind in counted_file.TYPES for in_list in (False, True)]


def read(files: list[Path]) -> list[list[Any]]:
    entries: list[list[Any]] = call_root(counted_file.entries, [str(file) for file in files])
    return entries


def longest(kind: str) -> int:
    """ROOT itself keeps the largest count of bytes as if they had a sign."""
    return 120 if kind in "Bb" else 300


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], list[Path]]:
    """Two files of each kind, of which the second has the longer lists."""
    folder = tmp_path_factory.mktemp("counted")
    files = {key: [folder / f"{key[0]}-{key[1]}-{n}.root" for n in range(2)] for key in KINDS}
    given = [
        (str(file), kind, most, in_list)
        for (kind, in_list), pair in files.items()
        for file, most in zip(pair, (2, longest(kind)), strict=True)
    ]
    call_root(counted_file.write, given)
    return files


def outputs(folder: Path, files: list[Path]) -> list[Path]:
    """All events, some of them, and the lists of those alone."""
    job = {
        "source": {"files": [str(file) for file in files]},
        "forking": {"children": 0},
        "modules": [{"label": "even", "type": "expression:event % 2 == 0", "kind": "filter"}],
        "paths": {"even": ["even"]},
        "outputs": [
            {"label": "all"},
            {"label": "some", "paths": ["even"]},
            {"label": "lists", "paths": ["even"], "keep": ["event", "x", "y"]},
        ],
    }
    folder.mkdir()
    ended = forkrun("run", write_job(folder, job), "-o", folder / "run", cwd=folder)
    assert ended.code == 0, ended.err
    return [folder / f"run/output/{label}.root" for label in ("all", "some", "lists")]


@pytest.mark.long
def test_root_reads_of_outputs_what_it_reads_of_a_file_of_hadd(
    tmp_path: Path, inputs: dict[tuple[str, bool], list[Path]]
) -> None:
    made: list[list[Path]] = []
    for number, files in enumerate(inputs.values()):
        expected, merged, joined = (tmp_path / f"{name}{number}.root" for name in "ehj")
        hadd(expected, [str(file) for file in files])
        jobs = outputs(tmp_path / str(number), files)
        merge_files(files, merged, recluster="never")
        merge_files([jobs[0], merged], joined)
        made.append([expected, *jobs, merged, joined])
    found = iter(read([file for files in made for file in files]))
    for kind, _ in inputs:
        expected_, every, some, lists, merged_, joined_ = (next(found) for _ in range(6))
        assert max(len(x) for _, x, _ in expected_) == longest(kind)
        assert every == merged_ == expected_, kind
        assert joined_ == 2 * expected_, kind
        assert some == lists == [entry for entry in expected_ if entry[0] % 2 == 0], kind
    open_with_root([file for files in made for file in files[1:]])
    frames = [made[KINDS.index((kind, False))] for kind in "Il"]
    sums = call_root(counted_file.sums_of_x, [str(f) for files in frames for f in files[:2]])
    assert sums[0] == sums[1] > 0
    assert sums[2] == sums[3] > 0
