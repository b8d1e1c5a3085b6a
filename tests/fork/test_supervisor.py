"""The supervisor with real forks and real signals."""

from __future__ import annotations

import mmap
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forkrun.base.wait_status import describe_status
from forkrun.fork.forking import Process, fork_processes
from forkrun.fork.once_crew import OnceCrew
from forkrun.fork.supervisor import Supervisor
from tests.support.jobs import PATIENCE_S

READY = mmap.mmap(-1, 4096)  # shared: a byte for each child that has set its handlers


@pytest.fixture(autouse=True)
def _nobody_is_ready() -> None:
    READY[:] = bytes(len(READY))


def tell_ready() -> None:
    READY[os.getpid() % len(READY)] = 1


def n_ready() -> int:
    return sum(READY[:])


class Watcher(OnceCrew):
    """Notes who was started; may do something `then`, once all children are ready."""

    def __init__(
        self, children: Sequence[int], then: Callable[[dict[int, int]], None] | None = None
    ) -> None:
        super().__init__(children, self._look)
        self.pids: dict[int, int] = {}
        self._then = then

    def started(self, child: int, pid: int) -> None:
        self.pids[child] = pid

    def _look(self) -> None:
        if self._then and n_ready() == len(self.pids):
            self._then(self.pids)
            self._then = None


def supervise(
    bodies: list[Callable[[], int]],
    folder: Path,
    then: Callable[[dict[int, int]], None] | None = None,
) -> Watcher:
    def process_of(child: int) -> Process:
        return Process(bodies[child], folder / f"{child}.log")

    watcher = Watcher(range(len(bodies)), then)
    Supervisor(process_of, watcher).run()
    return watcher


def sleep_for_ever() -> int:
    tell_ready()
    while True:
        time.sleep(1)


def wait_for_another() -> None:
    while not n_ready():
        time.sleep(0.01)


def end_with_5() -> int:
    wait_for_another()
    return 5


def die_by(number: int) -> Callable[[], int]:
    def body() -> int:
        wait_for_another()
        os.kill(os.getpid(), number)
        time.sleep(10)
        return 0

    return body


def test_children_that_end_well_give_a_good_outcome(tmp_path: Path) -> None:
    crew = supervise([lambda: 0, lambda: 0, lambda: 0], tmp_path)
    assert crew.exit_codes == {0: 0, 1: 0, 2: 0}
    assert (crew.failed, crew.signal_number) == (None, 0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_killed_child_is_the_end_of_the_others(tmp_path: Path, number: int) -> None:
    crew = supervise([sleep_for_ever, die_by(number)], tmp_path)
    assert crew.failed == (1, -number)
    assert crew.exit_codes == {1: -number, 0: -signal.SIGKILL}


def test_an_exception_in_a_child_is_exit_code_1_with_a_traceback_in_its_log(tmp_path: Path) -> None:
    def body() -> int:
        raise ValueError("no such muon")

    assert supervise([body], tmp_path).failed == (0, 1)
    assert "ValueError: no such muon" in (tmp_path / "0.log").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_parent_ends_all_children(tmp_path: Path, number: int) -> None:
    bodies = [sleep_for_ever, sleep_for_ever]
    crew = supervise(bodies, tmp_path, then=lambda _pids: os.kill(os.getpid(), number))
    assert crew.exit_codes == {0: -signal.SIGKILL, 1: -signal.SIGKILL}
    assert (crew.failed, crew.signal_number) == (None, number)


def test_signals_of_others_do_not_reach_children(tmp_path: Path) -> None:
    """A batch system sends them to every process; children wait for what their parent says."""

    def body() -> int:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            os.kill(os.getpid(), number)
        return 0

    assert supervise([body], tmp_path).exit_codes == {0: 0}


def test_handlers_are_as_before_when_the_supervisor_returns(tmp_path: Path) -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    supervise([lambda: 0], tmp_path)
    after = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)]
    assert after == before


def hang_up_and_end(pids: dict[int, int]) -> None:
    os.kill(os.getpid(), signal.SIGHUP)
    os.kill(pids[0], signal.SIGKILL)


def test_a_signal_that_was_ignored_before_stays_ignored(tmp_path: Path) -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        crew = supervise([sleep_for_ever], tmp_path, then=hang_up_and_end)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (crew.failed, crew.signal_number) == ((0, -signal.SIGKILL), 0)


def test_no_child_outlives_its_parent(tmp_path: Path) -> None:
    def parent() -> int:
        (pid,) = fork_processes([Process(sleep_for_ever, tmp_path / "grandchild.log")])
        (tmp_path / "pid").write_text(str(pid))
        wait_for_another()
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    supervise([parent], tmp_path)
    grandchild = int((tmp_path / "pid").read_text())
    deadline_s = time.monotonic() + PATIENCE_S
    while _runs(grandchild) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    if _runs(grandchild):
        os.kill(grandchild, signal.SIGKILL)
        pytest.fail("the grandchild outlived its parent")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_output_of_a_child_goes_to_its_log(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def body() -> int:
        print("from Python")
        os.write(2, b"from a library\n")
        return 0

    supervise([body], tmp_path)
    assert sorted((tmp_path / "0.log").read_text().splitlines()) == [
        "from Python",
        "from a library",
    ]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [(0, "exit code 0"), (5, "exit code 5"), (-11, "killed by signal 11 (SIGSEGV)")],
)
def test_a_status_is_said_in_words(exit_code: int, words: str) -> None:
    assert describe_status(exit_code) == words
