"""Jobs whose server fails in many ways: the same bytes, or an error and the same bytes later."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.remote_faults.faults import KINDS
from tests.remote_faults.rounds import Bench, draw_plan, run_round
from tests.support.fault_proxy import FaultProxy, fault_proxy
from tests.support.jobs import Ended, environment, forkrun, output_digests
from tests.support.slow_link import slow_link
from tests.support.xrootd_server import XrootdServer, xrootd_server

pytestmark = pytest.mark.long

JOB = """
import forkrun

job = forkrun.Job({file!r}, name="remote")
path = job.path("loose").filter("nMuon >= 2").hist("MET_pt", (50, 0, 200), name="met")
job.output("skim", paths=["loose"], keep=["*"])
"""
LIMITS = environment(
    FORKRUN_REMOTE_PAUSES="1,2,4",
    FORKRUN_CACHE="",
    FORKRUN_REMOTE_LIMITS="5,4",
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
        assert "asking again in" in ended.err
    ended = run(tmp_path, server.url("s.root"))
    assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "run") == output_digests(here)


QUICK = ("resets", "always_damaged", "hangs_for_ever", "expires", "full_cache")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.mark.parametrize(
    "kind",
    [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.long) for kind in KINDS],
)
def test_random_faults_end_in_the_same_bytes_or_an_error_that_a_resume_mends(
    bench: Bench, kind: str
) -> None:
    """`make remote-faults` does many rounds."""
    plan = replace(draw_plan(1, kind), has_short_limits=True)
    done = run_round(bench, plan, kind)
    assert done.violations == [], plan


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
