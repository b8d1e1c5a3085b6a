"""Functions in forked processes of the test's own."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def in_processes(n: int, body: Callable[[int], None]) -> None:
    """Calls `body` in n processes at once, with the number of each, and waits for these: other
    children of this process, which tests before may have left, are none of theirs."""
    pids = []
    for number in range(n):
        if (pid := os.fork()) == 0:
            try:
                body(number)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        pids.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    assert codes == [0] * n
