"""Friend trees of jobs on many nodes: the bytes and the errors of one node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun.base.durable import read_json
from tests.batch.jobs import of_one_node, status_of, submit
from tests.index.test_friends import ids_of, job, write_friend
from tests.support.files import write_events
from tests.support.jobs import forkrun, output_digests

LUMIS = [[(1, 1, 60), (1, 2, 40)], [(1, 3, 50), (1, 4, 50)], [(2, 1, 70)]]
FIRST = (1, 101, 201, 271)


def write_files(folder: Path, numbers: range) -> list[Path]:
    return [write_events(folder / f"{n}.root", LUMIS[n], FIRST[n]) for n in numbers]


def write_friends(folder: Path, n_files: int) -> list[dict[str, Any]]:
    """One with a file for all of the input, the other with a file for each of it."""
    all_events = range(1, FIRST[n_files])
    whole = {"thrice": 3.0 * np.array(all_events)}
    one = write_friend(folder / "whole.root", all_events, whole, tree="Whole")
    for n in range(n_files):
        write_friend(folder / f"each-{n}.root", range(FIRST[n], FIRST[n + 1]))
    return [
        {"tree": "Friend", "files": [str(folder / "each-*.root")]},
        {"tree": "Whole", "files": [str(one)], "prefix": "w_"},
    ]


def write_job(folder: Path, friends: list[dict[str, Any]], **sections: Any) -> Path:
    files = sorted(folder.glob("[0-9].root"))
    outputs = [{"label": "some", "paths": ["even"], "keep": ["*", "twice"]}]
    return job(folder, files, friends, outputs=outputs, **sections)


def finish(folder: Path, run: str, n_nodes: int) -> dict[str, str]:
    """Digests of the outputs when all nodes have worked, one after the other."""
    for number in range(n_nodes):
        ended = forkrun("node", run, number, "-q", cwd=folder)
        assert ended.code == 0, ended.err
    ended = forkrun("collect", run, "-q", cwd=folder)
    assert ended.code == 0, ended.err
    return output_digests(folder / run)


@pytest.mark.slow
def test_nodes_read_their_entries_of_friends_with_the_bytes_of_one_node(tmp_path: Path) -> None:
    write_files(tmp_path, range(3))
    config = write_job(tmp_path, write_friends(tmp_path, 3))
    assert submit(config, "run", "--nodes", 4).code == 0
    parts = [read_json(tmp_path / f"run/batch/parts/{n:04d}.json") for n in range(4)]
    first, last = parts[0]["friends"], parts[3]["friends"]
    assert [list(friend["files"]) for friend in first] == [
        [str(tmp_path / "each-0.root")], [str(tmp_path / "whole.root")]
    ]  # fmt: skip
    assert last[1]["places"] == {"2": [str(tmp_path / "whole.root"), 200]}
    assert finish(tmp_path, "run", 4) == of_one_node(config)


@pytest.mark.long
def test_friends_are_copied_to_scratch_with_the_input(tmp_path: Path) -> None:
    write_files(tmp_path, range(3))
    log = tmp_path / "copied"
    copy = f"echo {{source}} >> {log}; cp {{source}} {{target}}"
    scratch = {"scratch": str(tmp_path), "stage_in": copy}
    config = write_job(tmp_path, write_friends(tmp_path, 3), batch=scratch)
    assert submit(config, "run", "--nodes", 2).code == 0
    for number in range(2):
        ended = forkrun("node", "run", number, "-q", "--scratch", tmp_path, cwd=tmp_path)
        assert ended.code == 0, ended.err
    assert forkrun("collect", "run", "-q", cwd=tmp_path).code == 0
    assert output_digests(tmp_path / "run") == of_one_node(config)
    copied = log.read_text().split()
    assert copied.count(str(tmp_path / "whole.root")) == 2
    assert {str(tmp_path / f"each-{n}.root") for n in range(3)} < set(copied)


def test_a_friend_that_has_changed_is_refused_by_the_nodes_that_read_it(tmp_path: Path) -> None:
    write_files(tmp_path, range(3))
    config = write_job(tmp_path, write_friends(tmp_path, 3)[:1])
    assert submit(config, "run", "--nodes", 3).code == 0
    write_friend(tmp_path / "each-2.root", range(201, 271), {"twice": np.ones(70)})
    codes = []
    for number in range(len(status_of(tmp_path / "run")["nodes"])):
        ended = forkrun("node", "run", number, "-q", cwd=tmp_path)
        codes.append(ended.code)
    assert codes == [0, 0, 4]
    assert f'have changed: input: friend "Friend" in {tmp_path}/each-2.root' in ended.err


def test_a_friend_of_other_events_is_refused_as_on_one_node(tmp_path: Path) -> None:
    write_files(tmp_path, range(2))
    events = np.arange(1, 201, dtype=np.uint64)
    columns = {**ids_of(events), "twice": np.zeros(200)}
    friend = write_friend(tmp_path / "f.root", events.tolist(), columns)
    config = write_job(tmp_path, [{"tree": "Friend", "files": [str(friend)]}])
    one = forkrun("run", config, "-o", "one", cwd=tmp_path)
    many = submit(config, "run", "--nodes", 2)
    assert (one.code, many.code) == (3, 3)
    said = [line for line in one.err.splitlines() if "has other events" in line]
    assert said
    assert said[0] in many.err


@pytest.mark.long
def test_new_files_come_with_new_files_of_friends(tmp_path: Path) -> None:
    write_files(tmp_path, range(2))
    config = write_job(tmp_path, write_friends(tmp_path, 2)[:1])
    assert submit(config, "run", "--nodes", 2).code == 0
    assert forkrun("node", "run", 0, "-q", cwd=tmp_path).code == 0
    write_files(tmp_path, range(2, 3))
    write_friend(tmp_path / "each-2.root", range(FIRST[2], FIRST[3]))
    config = write_job(tmp_path, [{"tree": "Friend", "files": [str(tmp_path / "each-*.root")]}])
    ended = submit(config, "run", "--extend", "--nodes", 1)
    assert ended.code == 0, ended.err
    assert finish(tmp_path, "run", 3) == of_one_node(config)


@pytest.mark.parametrize(
    ("files", "code", "problem"),
    [
        (["each-0.root", "each-1.root"], 3, "has 200 entries"),
        (["each-1.root", "each-0.root", "each-2.root"], 2, "name more files after these"),
        (["each-0.root", "each-1.root", "new.root"], 0, ""),
    ],
)
def test_friends_of_more_input_are_those_of_before_and_more(
    tmp_path: Path, files: list[str], code: int, problem: str
) -> None:
    write_files(tmp_path, range(2))
    write_friends(tmp_path, 3)
    before = {"tree": "Friend", "files": [str(tmp_path / f"each-{n}.root") for n in range(2)]}
    assert submit(write_job(tmp_path, [before]), "run", "--nodes", 2).code == 0
    write_files(tmp_path, range(2, 3))
    write_friend(tmp_path / "new.root", range(FIRST[2], FIRST[3]))
    after = {"tree": "Friend", "files": [str(tmp_path / name) for name in files]}
    ended = submit(write_job(tmp_path, [after]), "run", "--extend", "--nodes", 1)
    assert ended.code == code, ended.err
    assert problem in ended.err
    assert len(status_of(tmp_path / "run")["nodes"]) == (3 if code == 0 else 2)


def test_files_that_were_planned_keep_their_friends(tmp_path: Path) -> None:
    """A new file of the friend comes ahead of those before, by its name."""
    write_files(tmp_path, range(1))
    write_friend(tmp_path / "f-b.root", range(1, 101))
    config = write_job(tmp_path, [{"tree": "Friend", "files": [str(tmp_path / "f-*.root")]}])
    assert submit(config, "run", "--nodes", 1).code == 0
    write_files(tmp_path, range(1, 2))
    write_friend(tmp_path / "f-a.root", range(101, 201))
    config = write_job(tmp_path, [{"tree": "Friend", "files": [str(tmp_path / "f-*.root")]}])
    ended = submit(config, "run", "--extend")
    assert ended.code == 2, ended.err
    assert f"{tmp_path}/f-a.root would be a friend of {tmp_path}/0.root" in ended.err


def test_a_friend_in_one_file_that_has_grown_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, range(2))
    config = write_job(tmp_path, write_friends(tmp_path, 2))
    assert submit(config, "run", "--nodes", 1).code == 0
    write_files(tmp_path, range(2, 3))
    config = write_job(tmp_path, write_friends(tmp_path, 3))
    ended = submit(config, "run", "--extend")
    assert ended.code == 4, ended.err
    assert f'friend "Whole" in {tmp_path}/whole.root' in ended.err
    assert len(status_of(tmp_path / "run")["nodes"]) == 1
