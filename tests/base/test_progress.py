"""A bar on terminals and in notebooks: what it says, and that it has no thread."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from tests.support.jobs import environment

PROGRAM = """
import sys, threading
from forkrun.base.progress import make_progress
bar = make_progress(5000, "events", quiet=False)
assert "tqdm" not in sys.modules and "asyncio" not in sys.modules
bar.update(1200)
bar.note("50 events a call")
bar.update(1000)  # what a child had done is done again
bar.close()
assert threading.active_count() == 1
"""


def test_a_bar_on_a_terminal_tells_done_rate_and_time_left_without_a_thread() -> None:
    terminal, end = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stderr=end, env=environment()) as job:
        os.close(end)
        said = b""
        while True:
            try:
                said += os.read(terminal, 65536)
            except OSError:  # its other end is closed
                break
    os.close(terminal)
    assert job.returncode == 0, said
    last = [text for text in said.decode().split("\r") if text.strip()][-1]
    assert last.startswith("events (50 events a call) ")
    assert " 20% 1,000 of 5,000, " in last
    assert last.endswith(" left")
