"""This machine as a batch system: a queue in a process that outlives the submitting command."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from forkrun.base.durable import open_to_append, read_json, write_bytes
from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.batch.course import NodeJobs
from forkrun.batch.systems.script import merge_scripts, node_script, node_script_text
from forkrun.batch.systems.system import Alive, Life
from forkrun.config import BatchConfig
from forkrun.errors import BatchError
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import is_held, process_of

_BEGINS_S = 30.0
"""Time limit for the start of the queue's process."""


class Local:
    """Each submission has a queue; each node is a process group of its own."""

    def most_nodes(self) -> int:
        """Any number."""
        return 1 << 30

    def check(self, batch: BatchConfig) -> None:
        """Settings for other batch systems are ignored."""

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
        command = [sys.executable, "-P", "-m", "forkrun.batch.systems.local_queue"]
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
