"""`forkrun join` writes the columns of a friend into the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import uproot

from forkrun import _core
from tests.support.jobs import forkrun
from tests.support.rntuple_pages import pages_of

EVENTS = np.arange(1, 301, dtype=np.uint64)
COUNTS = EVENTS.astype(int) % 4
HITS = [np.cumsum([0, *COUNTS]).tolist(), np.arange(COUNTS.sum()).tolist()]
JETS = ak.unflatten(np.arange(COUNTS.sum(), dtype=np.float32), COUNTS)


def ids(events: Any) -> dict[str, Any]:
    return {
        "run": np.ones(len(events), np.uint32),
        "luminosityBlock": ((events - 1) // 100 + 1).astype(np.uint32),
        "event": events,
    }


def write(path: Path, tree: str, kind: str, columns: dict[str, Any]) -> None:
    with uproot.recreate(path) as file:
        getattr(file, kind)(tree, columns)


def read(path: Path) -> Any:
    with uproot.open(path) as file:
        return {name: each.array().tolist() for name, each in file["Events"].items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files "a" of events, "b" of the same in order without ids, "c" in reverse with ids."""
    folder = tmp_path_factory.mktemp("join")
    back = EVENTS[::-1]
    for name, kind in (("tree", "mktree"), ("ntuple", "mkrntuple")):
        own = {**ids(EVENTS), "x": EVENTS * 0.5, "Jet": ak.zip({"pt": JETS})}
        write(folder / f"a_{name}.root", "Events", kind, own)
        write(folder / f"b_{name}.root", "Friend", kind, {"w": EVENTS * 2.0})
        other = {**ids(back), "w": back * 2.0, "Hit": ak.zip({"q": JETS[::-1]})}
        write(folder / f"c_{name}.root", "Friend", kind, other)
    return folder


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("own", ["tree", "ntuple"])
def test_columns_are_joined_by_position_and_by_ids(folder: Path, own: str) -> None:
    before = read(folder / f"a_{own}.root")
    for friend in ("tree", "ntuple"):
        words = ("join", f"a_{own}.root", f"b_{friend}.root", "--with", "Friend", "--force")
        ended = forkrun(*words, "-o", "made.root", "--json", cwd=folder)
        assert ended.code == 0, ended.err
        assert json.loads(ended.out) == {"file": "made.root", "entries": 300}
        assert read(folder / "made.root") == {**before, "w": (EVENTS * 2.0).tolist()}
        other = ("join", f"a_{own}.root", f"c_{friend}.root", "--with", "Friend", "--prefix", "K_")
        by = ("--by", "run,luminosityBlock=luminosityBlock,event", "--force")
        ended = forkrun(*other, *by, "-o", "made.root", cwd=folder)
        assert ended.code == 0, ended.err
        made = read(folder / "made.root")
        assert {name: made[name] for name in before} == before
        assert made["K_w"] == (EVENTS * 2.0).tolist()
        hits = _core.read_columns(str(folder / "made.root"), "Events", ["K_Hit_q"])["K_Hit_q"]
        assert [each.tolist() for each in hits] == HITS
    assert sorted(each.name for each in folder.glob(".*")) == []


def test_pages_of_large_clusters_are_copied(folder: Path) -> None:
    numbers = np.random.default_rng(1).normal(size=100_000)
    own = {"run": np.ones(100_000, np.uint32), "event": np.arange(100_000), "x": numbers}
    write(folder / "large.root", "Events", "mkrntuple", own | {"luminosityBlock": own["run"]})
    write(folder / "more.root", "Events", "mktree", {"y": 2 * numbers})
    ended = forkrun("join", "large.root", "more.root", "-o", "copied.root", cwd=folder)
    assert ended.code == 0, ended.err
    (before,), (after,) = (
        pages_of(folder / name, "Events") for name in ("large.root", "copied.root")
    )
    assert [column for column in after if column in before] == before
    assert read(folder / "copied.root")["y"] == (2 * numbers).tolist()


def test_what_cannot_be_joined_is_an_error_and_leaves_no_file(folder: Path) -> None:
    write(folder / "short.root", "Friend", "mktree", {"w": EVENTS[:7] * 2.0})
    for friend, words, code, text in (
        ("short.root", (), 3, "short.root"),
        ("b_tree.root", ("--missing", "fill"), 2, "needs keys"),
        ("b_tree.root", ("--by", "=x"), 2, "names no branch"),
        ("none.root", (), 3, "none.root"),
    ):
        command = ("join", "a_tree.root", friend, "--with", "Friend", "-o", "wrong.root", *words)
        ended = forkrun(*command, cwd=folder)
        assert (ended.code, text in ended.err) == (code, True), ended.err
        assert not (folder / "wrong.root").exists()
    (folder / "there.root").touch()
    ended = forkrun("join", "a_tree.root", "b_tree.root", "-o", "there.root", cwd=folder)
    assert (ended.code, "this file exists; replace it with --force" in ended.err) == (4, True)
