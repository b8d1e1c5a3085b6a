"""Rooms of the product keep the number of lines that `lines.toml` gives them."""

from __future__ import annotations

import subprocess
import tomllib
from collections import Counter
from pathlib import PurePath

import pytest

from tests.support.jobs import ROOT

BUDGETS = ROOT / "tests/lines.toml"
PRODUCT = ("forkrun", "merge", "monitoring", "cpp")
ROOM_FOR_WORK = 400
"""A budget may be so much larger than its room: lower it when it is not."""


def room_of(path: PurePath) -> str:
    """`forkrun/plan`, `cpp/forkrun/core`, `cpp/forkrun/formats/ttree`; files between rooms belong
    to the folder."""
    of_cpp = {"bindings": 2, "cmake": 2}.get(path.parts[1], 4 if "formats" in path.parts else 3)
    n = {"cpp": of_cpp, "forkrun": 2}.get(path.parts[0], 1)
    return "/".join(path.parts[: min(n, len(path.parts) - 1)])


def lines_of_rooms() -> Counter[str]:
    """Of all files that git knows but tests of C++."""
    listed = subprocess.run(
        ["git", "ls-files", *PRODUCT], cwd=ROOT, capture_output=True, text=True, check=True
    )
    rooms = Counter[str]()
    for name in listed.stdout.splitlines():
        path = PurePath(name)
        is_test = "testing" in path.parts or path.stem.endswith("_test")
        if not is_test and (ROOT / path).is_file():
            rooms[room_of(path)] += (ROOT / path).read_bytes().count(b"\n")
    return rooms


@pytest.fixture(scope="module")
def rooms() -> Counter[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("these are not files of git")
    return lines_of_rooms()


def test_no_room_has_more_lines_than_its_budget(rooms: Counter[str]) -> None:
    budgets: dict[str, int] = tomllib.loads(BUDGETS.read_text())
    over = {room: n for room, n in rooms.items() if n > budgets.get(room, 0)}
    assert over == {}, "take lines out, or raise the budget in tests/lines.toml on purpose"


def test_budgets_fall_with_their_rooms(rooms: Counter[str]) -> None:
    budgets: dict[str, int] = tomllib.loads(BUDGETS.read_text())
    loose = {room: rooms[room] for room, n in budgets.items() if n > rooms[room] + ROOM_FOR_WORK}
    assert loose == {}, "lower the budget in tests/lines.toml: it may only fall"
