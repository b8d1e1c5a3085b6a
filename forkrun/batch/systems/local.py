"""This machine as a batch system: a queue in a process that outlives the submitting command."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from forkrun.base.durable import open_to_append, read_json, write_bytes
from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.batch.course import NodeJobs, read_submissions
from forkrun.batch.systems.script import (
    merge_script,
    merge_scripts,
    node_script,
    node_script_text,
    part_script,
)
from forkrun.batch.systems.system import Alive, Life, System
from forkrun.config.batch import BatchConfig
from forkrun.errors import BatchError, OutOfTimeError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import RunLock, is_held, process_of

_BEGINS_S = 30.0
"""Time limit for the start of the queue's process."""


class Local(System):
    """Each submission has a queue; each node is a process group of its own."""

    def most_nodes(self) -> int:
        """Any number."""
        return 1 << 30

    def scripts(
        self, folder: RunDirectory, submission: NodeJobs, batch: BatchConfig
    ) -> Mapping[Path, str]:
        """The script of the nodes, and how many run at once."""
        return merge_scripts(folder, submission, batch) | {
            node_script(folder, submission): node_script_text(folder, submission, batch),
            at_once_file(folder, submission.number): f"{batch.at_once or 1}\n",
        }

    def submit(self, folder: RunDirectory, submission: NodeJobs) -> str:
        """Starts the queue."""
        command = [sys.executable, "-P", "-m", "forkrun.batch.systems.local"]
        arguments = [str(folder.path), str(submission.number)]
        log = folder.batch / f"queue-{submission.number}.log"
        with os.fdopen(open_to_append(log), "ab") as said:
            queue = subprocess.Popen(
                [*command, *arguments], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                start_new_session=True, cwd=folder.path.parent,
            )  # fmt: skip
        until_s = time.monotonic() + _BEGINS_S
        while queue.poll() is None and time.monotonic() < until_s:
            if state_file(folder, submission.number).exists():
                return f"queue of {plural(len(submission.nodes), 'node')}: process {queue.pid}"
            time.sleep(0.02)
        if queue.poll() == 0:
            return f"queue of {plural(len(submission.nodes), 'node')}: done"
        raise BatchError(f"local: the queue did not begin; its log: {log}")

    def merge(self, folder: RunDirectory, submission: NodeJobs, alive: Sequence[NodeJobs]) -> str:
        """The queue merges at its end."""
        return "the queue merges when its nodes have ended"

    def lives(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs]
    ) -> Mapping[int, Alive] | None:
        """States noted by the living queues."""
        lives: dict[int, Alive] = {}
        for submission in submissions:
            if is_held(lock_file(folder, submission.number)):
                state = read_json(state_file(folder, submission.number))
                lives |= dict.fromkeys(state.get("waiting", ()), Alive(Life.WAITING))
                lives |= dict.fromkeys(map(int, state.get("running", ())), Alive(Life.RUNNING))
        return lives

    def merges(self, folder: RunDirectory, submissions: Sequence[NodeJobs]) -> bool | None:
        """Whether a living queue merges at its end."""
        return any(is_held(lock_file(folder, each.number)) for each in submissions)

    def kill(
        self, folder: RunDirectory, submissions: Sequence[NodeJobs], nodes: Sequence[int]
    ) -> None:
        """Asks the queues to end these nodes; ends nodes of dead queues itself."""
        for submission in submissions:
            own = sorted(set(nodes) & set(submission.nodes))
            if is_held(lock_file(folder, submission.number)):
                write_bytes(new_order(folder, submission.number), json.dumps(own).encode())
            if not is_held(lock_file(folder, submission.number)):
                _end_without_queue(folder, own)


def _end_without_queue(folder: RunDirectory, nodes: Sequence[int]) -> None:
    for node in nodes:
        if pid := process_of(folder.node(node).lock):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)


def lock_file(folder: RunDirectory, number: int) -> Path:
    """File locked by the queue of a submission."""
    return folder.batch / f"queue-{number}.lock"


def state_file(folder: RunDirectory, number: int) -> Path:
    """File with the waiting and running nodes of a queue."""
    return folder.batch / f"queue-{number}.json"


def new_order(folder: RunDirectory, number: int) -> Path:
    """New file for an order to end nodes of a queue: no order replaces another."""
    return folder.batch / f"queue-{number}.kill-{secrets.token_hex(8)}"


def take_orders(folder: RunDirectory, number: int) -> list[int]:
    """Nodes that a queue must end, from all its orders, which are removed."""
    nodes: list[int] = []
    for place in folder.batch.glob(f"queue-{number}.kill-*"):
        if place.suffix != ".part":
            with suppress(OSError, ValueError):
                nodes += [int(node) for node in json.loads(read_regular(place))]
            place.unlink(missing_ok=True)
    return nodes


def at_once_file(folder: RunDirectory, number: int) -> Path:
    """File with the number of nodes that a queue runs at once."""
    return folder.batch / f"queue-{number}.at-once"


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
    """`python -m forkrun.batch.systems.local RUNDIR NUMBER`."""
    folder, number = RunDirectory(Path(sys.argv[1])), int(sys.argv[2])
    submissions = {submission.number: submission for submission in read_submissions(folder)}
    queue = Queue(folder, submissions[number])
    signal.signal(signal.SIGTERM, lambda *_: queue.stop())
    queue.run()


if __name__ == "__main__":
    main()
