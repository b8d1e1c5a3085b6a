"""What forbids a fork, where it came from, and what the message says."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forkrun.errors import ForkSafetyError
from forkrun.fork.hazards import Hazard, find_hazards, origin_of, step
from forkrun.fork.safety import check_safe_to_fork
from tests.support.jobs import PATIENCE_S, environment


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets the threads of a test end, and waits for them."""
    before = set(threading.enumerate())
    event = threading.Event()
    yield event
    event.set()
    for thread in set(threading.enumerate()) - before:
        thread.join()


def start_thread(name: str, release: threading.Event) -> None:
    threading.Thread(target=release.wait, name=name).start()


def test_a_second_thread_forbids_the_fork_and_is_named_with_its_origin(
    release: threading.Event,
) -> None:
    with step("conditions were loaded"), step('condition "jets" was loaded'):
        start_thread("calibration-reader", release)
    with pytest.raises(ForkSafetyError) as caught:
        check_safe_to_fork()
    first, *lines = str(caught.value).splitlines()
    assert first.startswith("cannot fork: the parent has ")
    (line,) = [line for line in lines if line.startswith("thread calibration-reader")]
    assert ', since condition "jets" was loaded: ' in line
    assert line.endswith("start it in post_fork(child) or begin_job() of a module")


def test_steps_that_leave_nothing_are_not_blamed(release: threading.Event) -> None:
    with step("before"):
        pass
    start_thread("late", release)
    with step("after"):
        pass
    (hazard,) = [hazard for hazard in find_hazards() if hazard.name == "late"]
    assert origin_of(hazard) is None


def run_python(code: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a pool has threads for other CPUs")
def test_a_pool_of_threads_is_traced_to_its_library() -> None:
    told = run_python(
        """
        from forkrun.fork.safety import check_safe_to_fork
        from forkrun.fork.hazards import step
        from forkrun.errors import ForkSafetyError
        with step("NumPy was imported"):
            import numpy
        try:
            check_safe_to_fork()
        except ForkSafetyError as error:
            print(error)
        """,
        OPENBLAS_NUM_THREADS="2",
    )
    assert "openblas" in told, told
    assert "since NumPy was imported" in told
    assert told.rstrip().endswith("set OPENBLAS_NUM_THREADS=1")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A /proc tree as of a process with one thread and no file."""
    (tmp_path / "task" / str(os.getpid())).mkdir(parents=True)
    (tmp_path / "fd").mkdir()
    (tmp_path / "net").mkdir()
    return tmp_path


def test_a_connection_to_another_machine_is_found_and_local_ones_are_not(recorded: Path) -> None:
    for fd, target in ((1, "socket:[10]"), (3, "socket:[11]"), (4, "socket:[12]"), (5, "pipe:[9]")):
        (recorded / "fd" / str(fd)).symlink_to(target)
    row = "  0: 0F02000A:A0B4 {peer} {state} 0:0 00:0 0 0 0 {inode} 1"
    rows = [
        row.format(peer="0100A8C0:0438", state="01", inode=11),  # 192.168.0.1:1080
        row.format(peer="0100007F:0438", state="01", inode=12),  # 127.0.0.1
        row.format(peer="0200A8C0:0438", state="01", inode=10),  # stdout
        row.format(peer="0300A8C0:0438", state="01", inode=99),  # of another process
    ]
    (recorded / "net" / "tcp").write_text("\n".join(["header", *rows]))
    assert find_hazards(recorded) == [Hazard("connection", "192.168.0.1:1080", "11")]


def address_of_this_machine() -> str:
    """One that is not that of the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as none:
        try:
            none.connect(("192.0.2.1", 9))  # for documentation; nothing is sent
        except OSError:
            pytest.skip("this machine has no network")
        return str(none.getsockname()[0])


@contextmanager
def default_timeout(timeout_s: float | None) -> Iterator[None]:
    socket.setdefaulttimeout(timeout_s)
    try:
        yield
    finally:
        socket.setdefaulttimeout(None)


@pytest.mark.parametrize("timeout_s", [None, 5.0])
def test_a_connection_of_this_process_is_found_and_stays_as_it_is(
    timeout_s: float | None,
) -> None:
    def connections() -> list[str]:
        return [hazard.name for hazard in find_hazards() if hazard.kind == "connection"]

    before = connections()
    for address, n_found in (("127.0.0.1", 0), (address_of_this_machine(), 2)):  # both ends
        with socket.create_server((address, 0)) as server:
            assert connections() == before
            there = server.getsockname()[:2]
            with socket.create_connection(there) as one, server.accept()[0]:
                with default_timeout(timeout_s):
                    found = connections()
                assert len(found) == len(before) + n_found
                assert (f"{address}:{there[1]}" in found) == bool(n_found)
                assert os.get_blocking(one.fileno())
    assert connections() == before


def test_an_open_gpu_is_found_and_its_library_alone_is_not(recorded: Path) -> None:
    files = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/null", "/usr/lib/libcuda.so.1")
    for fd, target in enumerate(files, start=3):
        (recorded / "fd" / str(fd)).symlink_to(target)
    assert [h.name for h in find_hazards(recorded)] == ["/dev/nvidia0", "/dev/nvidiactl"]
    with pytest.raises(ForkSafetyError, match="the parent has 2 open GPU devices"):
        check_safe_to_fork(recorded)


_SIGNALS = """
import re
from pathlib import Path

def handlers():
    return re.findall(r"Sig(?:Cgt|Ign):.*", Path("/proc/self/status").read_text())

before = handlers()
import forkrun._core
assert handlers() == before, "by loading the libraries"
forkrun._core.warm_up()
assert handlers() == before, "by starting ROOT"
"""


def test_roots_signal_handlers_are_not_ours() -> None:
    command = [sys.executable, "-c", _SIGNALS]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert ended.returncode == 0, ended.stderr


def test_without_proc_it_is_said_that_it_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ForkSafetyError, match="/proc is not there"):
        check_safe_to_fork(tmp_path / "none")


@pytest.mark.parametrize(("flags", "is_found"), [(0x400040, True), (0x400044, False)])
def test_a_thread_that_was_joined_and_is_not_gone_yet_is_no_hazard(
    recorded: Path, flags: int, is_found: bool
) -> None:
    task = recorded / "task" / str(os.getpid() + 1)
    task.mkdir()
    (task / "comm").write_text("a (b) c\n")
    (task / "stat").write_text(f"{task.name} (a (b) c) S 1 1 1 0 -1 {flags} 0 0\n")
    expected = [Hazard("thread", "a (b) c", task.name)] if is_found else []
    assert find_hazards(recorded) == expected


def test_a_thread_is_no_hazard_once_it_is_joined() -> None:
    code = """
        import threading

        from forkrun.fork.safety import check_safe_to_fork

        for _ in range(500):
            thread = threading.Thread(target=lambda: None)
            thread.start()
            thread.join()
            check_safe_to_fork()
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert ended.returncode == 0, ended.stderr
