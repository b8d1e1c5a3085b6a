"""Which branches of objects cannot be copied, found in processes that die of some of them."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from forkrun.errors import InputError
from forkrun.formats import Format
from forkrun.schedule.object_branches import _bad_ones


class Trial(Format):
    def __init__(self, log: str) -> None:
        self._log = log

    def try_copy(self, path: str, tree: str, names: Sequence[str], scratch: str) -> None:
        with open(self._log, "a") as log:
            log.write(f"{os.getpid()} {names[0]}\n")
        if names[0].startswith("dies"):
            os.kill(os.getpid(), signal.SIGSEGV)
        if names[0].startswith("refused"):
            raise InputError(names[0])


@pytest.mark.parametrize(
    "bad",
    [[], ["refused"], ["dies"], ["dies", "dies2"], ["refused", "dies", "refused2", "dies2"]],
)
def test_branches_are_tried_on_after_one_that_kills_the_process(
    tmp_path: Path, bad: list[str]
) -> None:
    path, log = tmp_path / "file", tmp_path / "log"
    path.write_bytes(b"x")
    names = ["good", *bad, "good2", *(name + "_late" for name in bad), "good3"]

    found = _bad_ones(Trial(str(log)), str(path), "tree", names)

    assert found == bad + [name + "_late" for name in bad]
    processes = {line.split()[0] for line in log.read_text().splitlines()}
    n_dead = sum(name.startswith("dies") for name in found)
    assert len(processes) <= 1 + 2 * n_dead
