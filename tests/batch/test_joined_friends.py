"""Friends whose entries are found by keys, on many nodes, after kills and with more input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uproot

from forkrun.base.durable import read_json
from tests.batch.jobs import of_one_node, submit
from tests.batch.test_friends import FIRST, finish, write_files, write_job
from tests.index.test_friends import write_friend
from tests.support.files import write_events
from tests.support.jobs import environment, forkrun, output_digests

BY = ["run", "event"]
FILL = {"fill": {"*": -1}}


def ids_of(events: Any) -> dict[str, Any]:
    """As `write_files` gives them."""
    return {"run": np.where(events > 200, 2, 1).astype(np.uint32), "event": events}


def write_parts(folder: Path, events: Any, n_parts: int) -> list[str]:
    """The events in files of a friend, in this order."""
    return [
        str(write_friend(folder / f"part-{n}.root", part, {**ids_of(part), "twice": 2.0 * part}))
        for n, part in enumerate(np.array_split(np.asarray(events, np.uint64), n_parts))
    ]


def joined(files: list[str], **options: Any) -> list[dict[str, Any]]:
    return [{"tree": "Friend", "files": files, "by": BY, **options}]


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("missing", [FILL, "drop"])
def test_nodes_give_the_bytes_of_one_node(tmp_path: Path, missing: Any) -> None:
    """A node opens the files alone that have partners of its events."""
    write_files(tmp_path, range(3))
    events = np.setdiff1d(np.arange(1, 271), [5, 60, 202])
    rising = np.concatenate([np.random.default_rng(2).permutation(events[:150]), events[150:]])
    config = write_job(tmp_path, joined(write_parts(tmp_path, rising, 4), missing=missing))
    assert submit(config, "run", "--nodes", 3).code == 0
    parts = [read_json(tmp_path / f"run/batch/parts/{n:04d}.json") for n in range(3)]
    assert [len(part["friends"][0]["files"]) for part in parts] == [3, 3, 4]
    assert finish(tmp_path, "run", 3) == of_one_node(config)


def test_a_friend_that_has_changed_is_refused_by_the_nodes_that_read_it(tmp_path: Path) -> None:
    write_files(tmp_path, range(3))
    config = write_job(tmp_path, joined(write_parts(tmp_path, np.arange(1, 271), 3)))
    assert submit(config, "run", "--nodes", 3).code == 0
    ids = ids_of(np.arange(181, 271, dtype=np.uint64))
    write_friend(tmp_path / "part-2.root", [1], {**ids, "twice": np.ones(90)})
    codes = []
    for number in range(3):
        ended = forkrun("node", "run", number, "-q", cwd=tmp_path)
        codes.append(ended.code)
    assert codes[0] == 0
    assert codes[2] == 4
    assert f'have changed: input: friend "Friend" in {tmp_path}/part-2.root' in ended.err


@pytest.mark.long
def test_new_files_come_with_new_files_of_friends(tmp_path: Path) -> None:
    write_files(tmp_path, range(2))
    files = write_parts(tmp_path, np.arange(200, 0, -1), 2)
    assert submit(write_job(tmp_path, joined(files)), "run", "--nodes", 2).code == 0
    write_files(tmp_path, range(2, 3))
    new = np.arange(FIRST[2], FIRST[3], dtype=np.uint64)[::-1]
    last = write_friend(tmp_path / "new.root", new, {**ids_of(new), "twice": 2.0 * new})
    config = write_job(tmp_path, joined([*files, str(last)]))
    ended = submit(config, "run", "--extend", "--nodes", 1)
    assert ended.code == 0, ended.err
    assert finish(tmp_path, "run", 3) == of_one_node(config)


def test_events_that_were_filled_do_not_get_partners_later(tmp_path: Path) -> None:
    write_files(tmp_path, range(2))
    files = write_parts(tmp_path, np.arange(1, 200), 1)
    config = write_job(tmp_path, joined(files, missing=FILL))
    assert submit(config, "run", "--nodes", 1).code == 0
    write_files(tmp_path, range(2, 3))
    new = np.arange(200, 271, dtype=np.uint64)
    last = write_friend(tmp_path / "new.root", new, {**ids_of(new), "twice": 2.0 * new})
    config = write_job(tmp_path, joined([*files, str(last)], missing=FILL))
    ended = submit(config, "run", "--extend")
    assert ended.code == 2, ended.err
    assert f"{last} would be a friend of {tmp_path}/1.root" in ended.err


@pytest.mark.long
def test_killed_children_and_scattered_lumis_give_the_same_bytes(tmp_path: Path) -> None:
    """Lumis in one piece: a block has pieces of files, with partners anywhere in the friend."""
    lumis = [(1, 1 + n % 3, 10) for n in range(12)]
    files = [write_events(tmp_path / f"{n}.root", lumis, first) for n, first in enumerate((1, 121))]
    events = np.random.default_rng(3).permutation(np.arange(1, 231, dtype=np.uint64))
    run = np.ones(len(events), np.uint32)
    friend = write_friend(
        tmp_path / "f.root", events, {"run": run, "event": events, "twice": 2.0 * events}
    )
    found = []
    for order in ("lumi", "input"):
        config = write_job(
            tmp_path, joined([str(friend)], missing="drop"), forking={"max_unit_events": 20},
            source={
                "files": [str(file) for file in files], "order": order,
                "friends": joined([str(friend)], missing="drop"),
            },
        )  # fmt: skip
        ended = forkrun("run", config, "-o", order, "--children", 1, "-q", cwd=tmp_path)
        assert ended.code == 0, ended.err
        faults = [{"fault": "SIGKILL", "at": "before_rename", "unit": 5}]
        env = environment(FORKRUN_CHAOS=json.dumps(faults))
        killed = tmp_path / f"{order}-killed"
        ended = forkrun("run", config, "-o", killed, "--children", 3, "-q", cwd=tmp_path, env=env)
        assert ended.code == 0, ended.err
        with uproot.open(killed / "output/some.root") as file:
            made = file["Events"].arrays(["event", "twice"])
        assert sorted(made.event.tolist()) == list(range(2, 231, 2))
        assert made.twice.tolist() == [2.0 * n for n in made.event.tolist()]
        assert output_digests(killed) == output_digests(tmp_path / order)
        found.append(made.event.tolist())
    assert found[0] != found[1]
