"""Bytes that are damaged on their way from a server are read again; damaged files are errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forkrun.studies.sample import SampleSettings, write_sample
from tests.support.fault_proxy import fault_proxy
from tests.support.jobs import Ended, environment, forkrun, output_digests
from tests.support.xrootd_server import XrootdServer, xrootd_server

JOB = """
import forkrun

job = forkrun.Job({file!r}, name="remote")
job.path("loose").filter("nMuon >= 2").hist("MET_pt", (50, 0, 200), name="met")
job.output("skim", paths=["loose"], keep=["*"])
job.output("all", keep=["*"])
"""
LIMITS = environment(FORKRUN_REMOTE_PAUSES="1,1", FORKRUN_CACHE="", FORKRUN_REMOTE_LIMITS="5,5")
NAMES = ("tree.root", "ntuple.root")


@pytest.fixture(scope="module")
def server() -> Iterator[XrootdServer]:
    with xrootd_server() as one:
        with_checksums = SampleSettings(n_events=6000, n_branches=120, compression="zlib:1")
        write_sample(one.data / NAMES[0], with_checksums)
        made = forkrun("convert", one.data / NAMES[0], one.data / NAMES[1], cwd=one.data)
        assert made.code == 0, made.err
        yield one


def run(folder: Path, name: str, file: str) -> Ended:
    job = folder / f"{name}.py"
    job.write_text(JOB.format(file=file))
    return forkrun("run", job, "-o", folder / name, "--children", 1, cwd=folder, env=LIMITS)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_damaged_on_its_way_is_read_again(
    tmp_path: Path, server: XrootdServer, name: str
) -> None:
    """In the index, in the child and in the merge: each has a connection of its own."""
    here = run(tmp_path, "here", str(server.data / name))
    assert here.code == 0, here.err
    for after in (20_000, 500_000):
        with fault_proxy(server.port) as proxy:
            proxy.damage_after = after
            url = f"root://127.0.0.1:{proxy.port}/{server.data}/{name}"
            ended = run(tmp_path, f"afar{after}", url)
            assert ended.code == 0, ended.err
            assert proxy.n_damaged >= 1
        assert output_digests(tmp_path / f"afar{after}") == output_digests(tmp_path / "here")


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_damaged_on_the_server_is_an_error(
    tmp_path: Path, server: XrootdServer, name: str
) -> None:
    """Where it is read again, it is the same."""
    content = bytearray((server.data / name).read_bytes())
    for place in range(100_000, len(content) - 300_000, 10_000):
        content[place] ^= 0x55
    (server.data / f"damaged-{name}").write_bytes(content)
    ended = run(tmp_path, "afar", server.url(f"damaged-{name}"))
    assert ended.code == 3, ended.err
    assert f"damaged-{name}" in ended.err
