"""Jobs whose server fails in many ways: the same bytes, or an error and the same bytes later."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from forkrun.studies.sample import SampleSettings, write_sample
from tests.support.fault_proxy import FaultProxy, fault_proxy
from tests.support.jobs import Ended, environment, forkrun, output_digests
from tests.support.slow_link import slow_link
from tests.support.xrootd_server import XrootdServer, xrootd_server

pytestmark = pytest.mark.slow

JOB = """
import forkrun

job = forkrun.Job({file!r}, name="remote")
path = job.path("loose").filter("nMuon >= 2").hist("MET_pt", (50, 0, 200), name="met")
job.output("skim", paths=["loose"], keep=["*"])
"""
LIMITS = environment(
    FORKRUN_REMOTE_PAUSES="1,2,4",
    FORKRUN_CACHE="",
    XRD_STREAMTIMEOUT="4",
    XRD_REQUESTTIMEOUT="6",
    XRD_CONNECTIONWINDOW="5",
)


@pytest.fixture(scope="module")
def server() -> Iterator[XrootdServer]:
    with xrootd_server() as one:
        write_sample(one.data / "s.root", SampleSettings(n_events=20_000, cluster=1000))
        yield one


@pytest.fixture(scope="module")
def here(server: XrootdServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the local file."""
    folder = tmp_path_factory.mktemp("here")
    ended = run(folder, str(server.data / "s.root"))
    assert ended.code == 0, ended.err
    return folder / "run"


def run(folder: Path, file: str) -> Ended:
    job = folder / "job.py"
    job.write_text(JOB.format(file=file))
    return forkrun("run", job, "-o", folder / "run", "--children", 2, cwd=folder, env=LIMITS)


def cuts(proxy: FaultProxy) -> None:
    proxy.cut_after, proxy.n_cuts = 40_000, 4


def refusals(proxy: FaultProxy) -> None:
    proxy.n_refused = 2


def silence(proxy: FaultProxy) -> None:
    proxy.is_silent = True
    threading.Timer(5.0, setattr, (proxy, "is_silent", False)).start()


@pytest.mark.parametrize("fault", [cuts, refusals, silence])
def test_faults_that_end_change_nothing(
    tmp_path: Path, server: XrootdServer, here: Path, fault: Callable[[FaultProxy], None]
) -> None:
    with fault_proxy(server.port) as proxy:
        fault(proxy)
        ended = run(tmp_path, f"root://127.0.0.1:{proxy.port}/{server.data}/s.root")
        assert ended.code == 0, ended.err
        assert proxy.n_connections > 2
    assert output_digests(tmp_path / "run") == output_digests(here)


def test_a_server_that_is_silent_for_ever_is_an_error_and_the_job_goes_on_elsewhere(
    tmp_path: Path, server: XrootdServer, here: Path
) -> None:
    with fault_proxy(server.port) as proxy:
        proxy.is_silent = True
        ended = run(tmp_path, f"root://127.0.0.1:{proxy.port}/{server.data}/s.root")
        assert ended.code == 3, ended.err
    ended = run(tmp_path, server.url("s.root"))
    assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "run") == output_digests(here)


ROUNDS = int(os.environ.get("REMOTE_FAULTS", "8"))
"""Random faults: one of these, at a moment that is drawn as well. Damaged bytes are not among them:
baskets of Zstandard have no checksum (test_remote_damage.py)."""


class Faults:
    """A server behind a proxy, and what may become of both."""

    def __init__(self, server: XrootdServer, proxy: FaultProxy, draw: random.Random) -> None:
        self.server, self.proxy, self.draw = server, proxy, draw
        self.file = server.data / "s.root"
        self.content = self.file.read_bytes()
        self.times = self.file.stat()
        self._timers: list[threading.Timer] = []

    def begin(self) -> str:
        """Says which."""
        kinds = (
            self.resets, self.refuses, self.is_killed, self.vanishes, self.is_truncated,
            self.is_replaced, self.hangs, self.hangs_for_ever,
        )  # fmt: skip
        kind = self.draw.choice(kinds)
        if self.draw.random() < 0.5:
            self._later(self.draw.uniform(0, 6), kind)
        else:
            kind()
        return kind.__name__

    def end(self) -> None:
        """All is as it was."""
        for timer in self._timers:
            timer.cancel()
            timer.join()
        if self.server.is_dead():
            self.server.start()
        self._write(self.content)
        os.utime(self.file, ns=(self.times.st_atime_ns, self.times.st_mtime_ns))
        self.proxy.n_cuts = self.proxy.n_refused = 0
        self.proxy.is_silent = False

    def _later(self, after_s: float, what: Callable[[], None]) -> None:
        self._timers.append(threading.Timer(after_s, what))
        self._timers[-1].start()

    def _write(self, content: bytes) -> None:
        whole = self.file.with_suffix(".new")
        whole.write_bytes(content)
        whole.replace(self.file)

    def resets(self) -> None:
        self.proxy.cut_after = self.draw.randrange(1_000, 3_000_000)
        self.proxy.n_cuts = self.draw.randrange(1, 12)

    def refuses(self) -> None:
        self.proxy.n_refused = self.draw.randrange(1, 12)

    def is_killed(self) -> None:
        self.server.kill()
        self._later(self.draw.uniform(0, 5), self.server.start)

    def vanishes(self) -> None:
        self.file.unlink()

    def is_truncated(self) -> None:
        self._write(self.content[: self.draw.randrange(len(self.content))])

    def is_replaced(self) -> None:
        self._write(self.content[:-100] + bytes(100))

    def hangs(self) -> None:
        self.proxy.is_silent = True
        self._later(5, partial(setattr, self.proxy, "is_silent", False))

    def hangs_for_ever(self) -> None:
        self.proxy.is_silent = True


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_random_faults_end_in_the_same_bytes_or_an_error_that_a_resume_mends(
    tmp_path: Path, server: XrootdServer, here: Path, seed: int
) -> None:
    """Also where the first replica is dead."""
    draw = random.Random(seed)
    with fault_proxy(server.port) as proxy:
        url = f"root://127.0.0.1:{proxy.port}/{server.data}/s.root"
        url = draw.choice(["", f"root://127.0.0.1:1/{server.data}/s.root|"]) + url
        faults = Faults(server, proxy, draw)
        try:
            kind = faults.begin()
            first = run(tmp_path, url)
            assert first.code in (0, 3), (kind, first.err)
        finally:
            faults.end()
        if first.code == 3:
            assert "s.root" in first.err, kind
            ended = run(tmp_path, url)
            assert ended.code == 0, (kind, ended.err)
    assert output_digests(tmp_path / "run") == output_digests(here), kind


def test_a_replica_that_is_slower_than_the_next_is_left(
    tmp_path: Path, server: XrootdServer, here: Path
) -> None:
    """The next one is not even asked where the first is good enough."""
    for mb_per_s, is_left in ((1000.0, False), (0.3, True)):
        with slow_link(server.port, 0.0, mb_per_s) as link, fault_proxy(server.port) as other:
            places = [
                f"root://127.0.0.1:{port}/{server.data}/s.root" for port in (link, other.port)
            ]
            (tmp_path / str(is_left)).mkdir()
            ended = run(tmp_path / str(is_left), "|".join(places))
            assert ended.code == 0, ended.err
            assert bool(other.n_connections) == is_left
        assert output_digests(tmp_path / str(is_left) / "run") == output_digests(here)
