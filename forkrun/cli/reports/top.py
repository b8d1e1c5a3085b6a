"""`forkrun top`: a running job, live."""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console, RenderableType
from rich.live import Live

from forkrun.base.quantities import plural
from forkrun.batch.course import accepted_submissions
from forkrun.cli.arguments import add_option, print_json
from forkrun.cli.kill import stop_nodes
from forkrun.errors import InputError
from forkrun.monitoring.live.screen import ORDERS, render
from forkrun.monitoring.live.state import LiveJob, LiveRun
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.lock import process_of
from forkrun.rundir.opening import check_owner

DESCRIPTION = (
    "Show a running job, here, on another machine or on many nodes, from its run directory: events,"
    " rate and time left, children or nodes, memory, and the last lines of logs. Without a"
    " terminal, print it once."
)

_EVERY_S = 2.0
_QUESTION = "y stops the job after the begun lumis; any other key continues"
_UP, _DOWN = "\x1b[A", "\x1b[B"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of this command."""
    parser.add_argument("run_dir", type=Path, metavar="RUNDIR", help="run directory of a job")
    add_option(parser, "--once", "print it once and end")
    add_option(parser, "--json", "print it once, as JSON")


def run(options: argparse.Namespace) -> int:
    """Shows the job until a key ends it."""
    folder = RunDirectory(options.run_dir)
    if not folder.config.exists():
        raise InputError(f"{options.run_dir}: not a run directory (it has no {folder.config.name})")
    view = _View(options.run_dir)
    if options.json:
        view.job.look()
        print_json(view.job.to_json(time.time()))
        return 0
    console = Console()
    if options.once or not (sys.stdin.isatty() and console.is_terminal):
        view.job.look()
        console.print(view.drawn(console.width, 10_000))
        return 0
    _show(view, console)
    return 0


class _View:
    """View of a job, and reactions to keys."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.job = LiveJob(LiveRun(path))
        self.order, self.first, self.note = ORDERS[0], 0, ""
        self.is_over, self.asks = False, False

    def drawn(self, width: int, height: int) -> RenderableType:
        return render(
            self.job, time.time(), width=width, height=height, order=self.order, first=self.first,
            note=self.note,
        )  # fmt: skip

    def press(self, key: str) -> None:
        """Obeys a key."""
        if self.asks:
            self.note, self.asks = self._stop() if key == "y" else "", False
            return
        self.note = ""
        if key in ("q", "\x03", "\x04"):
            self.is_over = True
        elif key == "o":
            self.order = ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)]
        elif key in (_UP, _DOWN, "k", "j"):
            self.first = max(self.first + (1 if key in (_DOWN, "j") else -1), 0)
        elif key == "s":
            self.note, self.asks = _QUESTION, True

    def _stop(self) -> str:
        """Asks the job to finish the lumis that it has begun, and then to stop."""
        folder = RunDirectory(self.path)
        try:
            check_owner(self.path)
            if self.job.nodes:
                stopped = stop_nodes(folder, accepted_submissions(folder), sorted(self.job.nodes))
                return f"{plural(stopped, 'node')} asked to stop"
            pid = process_of(folder.lock)
            if pid is None:
                return "The job does not run on this machine, or has ended"
            os.kill(pid, signal.SIGUSR1)
        except Exception as error:
            return f"It could not be stopped: {error}"
        return f"Process {pid} was asked to stop after the begun lumis"


def _show(view: _View, console: Console) -> None:
    with _keys() as keys, Live(console=console, screen=True, auto_refresh=False) as live:
        while not view.is_over:
            view.job.look()
            live.update(view.drawn(*console.size), refresh=True)
            for key in keys(_EVERY_S):
                view.press(key)


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], list[str]]]:
    """A function that waits so long for keys and gives those that were pressed."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)

    def pressed(wait_s: float) -> list[str]:
        with contextlib.suppress(InterruptedError):
            if select.select([descriptor], [], [], wait_s)[0]:
                text = os.read(descriptor, 64).decode("utf-8", "replace")
                return [text] if text.startswith("\x1b") else list(text or "q")
        return []

    tty.setcbreak(descriptor)
    try:
        yield pressed
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
