"""Adds up the memory of a job in /proc, as the kernel has it."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Watch(threading.Thread):
    """Adds up PSS and private memory of a process and of its children, again and again. `most`: the
    highest sum of PSS; `highest`: the highest one in which all children were there, and its private
    memory; `plateau`: the highest of those in which these had all so much of their own [bytes]."""

    def __init__(self, pid: int, n_children: int, own_bytes: float = 0) -> None:
        super().__init__(daemon=True)
        self._pid, self._n_children, self._own_bytes = pid, n_children, own_bytes
        self.most = 0
        self.highest = self.plateau = (0, 0)

    def run(self) -> None:
        """Until the process ends."""
        while (before := self._pids()) is not None:
            sizes = [memory_of(pid) for pid in before]
            if not all(map(has_memory, before)):
                continue  # what has ended meanwhile was never there with all of the others
            self.most = max(self.most, sum(pss for pss, _ in sizes))
            if len(before) == 1 + self._n_children and before == self._pids():
                total = sum(pss for pss, _ in sizes), sum(private for _, private in sizes)
                self.highest = max(self.highest, total)
                if min(private for _, private in sizes[1:]) > self._own_bytes:
                    self.plateau = max(self.plateau, total)
            time.sleep(0.02)

    def _pids(self) -> list[int] | None:
        try:
            file = Path(f"/proc/{self._pid}/task/{self._pid}/children")
            return [self._pid, *map(int, file.read_text().split())]
        except OSError:
            return None


def has_memory(pid: int) -> bool:
    """Whether it has not ended."""
    try:
        return Path(f"/proc/{pid}/statm").read_text().split()[1] != "0"
    except OSError:
        return False


def memory_of(pid: int) -> tuple[int, int]:
    """PSS and private memory; 0 of a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return 0, 0
    fields = {
        name: 1024 * int(size.split()[0]) for name, _, size in (x.partition(":") for x in lines)
    }
    return fields["Pss"], fields["Private_Dirty"] + fields["Private_Clean"]


def _burn() -> None:
    while True:
        pass


@contextmanager
def burners(n: int) -> Iterator[None]:
    """Processes that want a CPU each."""
    processes = [multiprocessing.get_context("fork").Process(target=_burn) for _ in range(n)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()
