"""Process that runs the nodes of a submission on this machine, some at a time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from forkrun.base.durable import open_to_append, write_bytes
from forkrun.batch.course import NodeJobs, read_submissions
from forkrun.batch.systems.local import at_once_file, lock_file, state_file, take_orders
from forkrun.batch.systems.script import merge_script, node_script, part_script
from forkrun.errors import OutOfTimeError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import RunLock

_LOOK_EVERY_S = 0.05
_GRACE_S = 30.0
"""Time between SIGTERM and SIGKILL of a node's process group."""


class Queue:
    """Nodes of one submission. A node out of time returns to the end of the queue."""

    def __init__(self, folder: RunDirectory, submission: NodeJobs) -> None:
        self._folder, self._submission = folder, submission
        self._at_once = int(at_once_file(folder, submission.number).read_text())
        self._waiting = list(submission.nodes)
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._kill_at_s: dict[int, float] = {}
        self._is_stopped = False

    def run(self) -> None:
        """Runs until no node waits or runs."""
        with RunLock.held(lock_file(self._folder, self._submission.number)) as lock:
            self._note()
            while self._waiting or self._running:
                lock.keep()
                if self._is_stopped:
                    self._end_nodes([*self._waiting, *self._running])
                if self._start() + self._end() + self._obey():
                    self._note()
                time.sleep(_LOOK_EVERY_S)
            if not self._is_stopped:
                self._merge(lock)

    def _merge(self, lock: RunLock) -> None:
        """Merges, if requested. The queue that ends last finds all nodes done."""
        script = merge_script(self._folder, self._submission)
        if script.exists():
            with lock.kept_by_thread(), ThreadPoolExecutor(self._at_once) as team:
                list(team.map(self._make_part, range(self._submission.n_merge_parts)))
                subprocess.run(["bash", str(script)], stdin=subprocess.DEVNULL)

    def _make_part(self, number: int) -> None:
        """Makes a part of the outputs. A failed part is left to the merge."""
        script = part_script(self._folder, self._submission)
        subprocess.run(["bash", str(script), str(number)], stdin=subprocess.DEVNULL)

    def stop(self) -> None:
        """Orders the queue to end all nodes; called in a signal handler."""
        self._is_stopped = True

    def _start(self) -> int:
        n_started = 0
        while self._waiting and len(self._running) < self._at_once:
            node = self._waiting.pop(0)
            self._running[node] = self._process(node)
            n_started += 1
        return n_started

    def _process(self, node: int) -> subprocess.Popen[bytes]:
        script = node_script(self._folder, self._submission)
        with os.fdopen(open_to_append(self._folder.batch_log(node)), "ab") as log:
            return subprocess.Popen(
                ["bash", str(script), str(node)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def _end(self) -> int:
        ended = [node for node, process in self._running.items() if process.poll() is not None]
        for node in ended:
            code = self._running.pop(node).returncode
            was_killed = self._kill_at_s.pop(node, None) is not None
            if code == OutOfTimeError.exit_code and not was_killed:
                self._waiting.append(node)
        return len(ended)

    def _obey(self) -> int:
        """Ends nodes by order: with SIGTERM, later with SIGKILL."""
        for node, at_s in self._kill_at_s.items():
            if time.monotonic() > at_s:
                self._signal(node, signal.SIGKILL)
        nodes = take_orders(self._folder, self._submission.number)
        self._end_nodes(nodes)
        return len(nodes)

    def _end_nodes(self, nodes: list[int]) -> None:
        self._waiting = [node for node in self._waiting if node not in nodes]
        for node in set(nodes) & self._running.keys() - self._kill_at_s.keys():
            self._kill_at_s[node] = time.monotonic() + _GRACE_S
            self._signal(node, signal.SIGTERM)

    def _signal(self, node: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._running[node].pid, number)

    def _note(self) -> None:
        running = {node: process.pid for node, process in self._running.items()}
        state = {"waiting": self._waiting, "running": running}
        place = state_file(self._folder, self._submission.number)
        write_bytes(place, json.dumps(state).encode(), durable=False)


def main() -> None:
    """`python -m forkrun.batch.systems.local_queue RUNDIR NUMBER`."""
    folder, number = RunDirectory(Path(sys.argv[1])), int(sys.argv[2])
    submissions = {submission.number: submission for submission in read_submissions(folder)}
    queue = Queue(folder, submissions[number])
    signal.signal(signal.SIGTERM, lambda *_: queue.stop())
    queue.run()


if __name__ == "__main__":
    main()
