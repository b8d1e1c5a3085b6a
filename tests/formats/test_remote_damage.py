"""Bytes that are damaged on their way from a server are read again; damaged files are errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun import _core
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.fault_proxy import FaultProxy, fault_proxy
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
UNCHECKED = "plain.root"
"""Without compression: nothing in the file tells a damaged basket."""


@pytest.fixture(scope="module")
def server() -> Iterator[XrootdServer]:
    with xrootd_server() as one:
        with_checksums = SampleSettings(n_events=6000, n_branches=120, compression="zlib:1")
        write_sample(one.data / NAMES[0], with_checksums)
        plain = SampleSettings(n_events=6000, n_branches=120, cluster=500, compression="none")
        write_sample(one.data / UNCHECKED, plain)
        made = forkrun("convert", one.data / NAMES[0], one.data / NAMES[1], cwd=one.data)
        assert made.code == 0, made.err
        yield one


def run(folder: Path, name: str, file: str, of: str = JOB) -> Ended:
    job = folder / f"{name}.py"
    job.write_text(of.format(file=file))
    return forkrun("run", job, "-o", folder / name, "--children", 1, cwd=folder, env=LIMITS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, UNCHECKED])
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


RANDOM_JOB = """
import forkrun

job = forkrun.Job({file!r}, name="remote")
job.path("high").filter("noise > 4e18")
job.output("high", paths=["high"], keep=["noise"])
"""


def write_noise(file: Path) -> None:
    """What zlib does not make smaller is stored as it is, without a checksum. What is between the
    baskets of noise keeps them apart: neighbours come with checksums of the link anyway."""
    n_events = 200_000
    event = np.arange(n_events, dtype=np.uint64)
    ids = {"run": np.ones(n_events, np.uint32), "luminosityBlock": np.ones(n_events, np.uint32)}
    noise, between = np.random.default_rng(1).integers(0, 1 << 63, (2, n_events), dtype=np.uint64)
    columns: dict[str, Any] = {**ids, "event": event, "noise": noise, "between": between}
    kinds = [(name, str(column.dtype)) for name, column in columns.items()]
    writer = _core.TreeWriter(str(file), "Events", kinds, "zlib:1")
    for first in range(0, n_events, 10_000):
        writer.write({name: each[first : first + 10_000] for name, each in columns.items()})
    writer.close()


@pytest.mark.slow
def test_baskets_that_have_no_checksum_although_their_branch_says_so_are_read_with_one(
    tmp_path: Path, server: XrootdServer
) -> None:
    write_noise(server.data / "noise.root")
    here = run(tmp_path, "here", str(server.data / "noise.root"), RANDOM_JOB)
    assert here.code == 0, here.err
    with fault_proxy(server.port) as proxy:
        proxy.damage_after = 900_000
        url = f"root://127.0.0.1:{proxy.port}/{server.data}/noise.root"
        ended = run(tmp_path, "afar", url, RANDOM_JOB)
        assert ended.code == 0, ended.err
        assert proxy.n_damaged >= 1
    assert output_digests(tmp_path / "afar") == output_digests(tmp_path / "here")


class OldServer(FaultProxy):
    """Before a server that then says of itself that it has no paged reads."""

    def _damaged(self, data: bytes, n_before: int) -> bytes:
        has_pages = re.compile(rb"(\0\0\0\0\0.\0\0\x05..)(.)", re.DOTALL)
        return has_pages.sub(self._without_pages, data[:64]) + data[64:]

    @staticmethod
    def _without_pages(found: re.Match[bytes]) -> bytes:
        return found[1] + bytes([found[2][0] & ~0x20])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, UNCHECKED])
def test_a_server_without_paged_reads_is_read_by_vectors_and_told_of(
    tmp_path: Path, server: XrootdServer, name: str
) -> None:
    here = run(tmp_path, "here", str(server.data / name))
    assert here.code == 0, here.err
    proxy = OldServer(server.port)
    try:
        url = f"root://127.0.0.1:{proxy.port}/{server.data}/{name}"
        ended = run(tmp_path, "afar", url)
    finally:
        proxy.close()
    assert ended.code == 0, ended.err
    (log,) = (tmp_path / "afar" / "logs").glob("*-merge.log")
    assert log.read_text().count("has no checksums for what it sends") == 1
    assert output_digests(tmp_path / "afar") == output_digests(tmp_path / "here")


@pytest.mark.slow
def test_a_link_that_damages_always_ends_the_job(tmp_path: Path, server: XrootdServer) -> None:
    """Each page of 4 kB, and not what is said before a file is read."""
    with fault_proxy(server.port) as proxy:
        proxy.damage_after = proxy.damage_every = 3000
        name = NAMES[0]
        ended = run(tmp_path, "afar", f"root://127.0.0.1:{proxy.port}/{server.data}/{name}")
        assert ended.code == 3, ended.err
        assert name in ended.err
        assert proxy.n_damaged > 100
        proxy.damage_after = None
        ended = forkrun("run", tmp_path / "afar.py", "-o", tmp_path / "afar", cwd=tmp_path)
        assert ended.code == 0, ended.err
    here = run(tmp_path, "here", str(server.data / name))
    assert here.code == 0, here.err
    assert output_digests(tmp_path / "afar") == output_digests(tmp_path / "here")


@pytest.mark.slow
def test_a_file_that_is_overwritten_while_it_is_open_is_told_as_changed(
    tmp_path: Path, server: XrootdServer
) -> None:
    """The server has it open, and gives what is there."""
    file = server.data / "overwritten.root"
    content = (server.data / UNCHECKED).read_bytes()
    other = bytearray(content)
    for place in range(1_000, len(content) - 600_000):
        other[place] ^= 1

    def put(content: bytes, date_s: int) -> None:
        file.write_bytes(content)
        os.utime(file, (date_s, date_s))

    put(content, 1_700_000_000)
    with fault_proxy(server.port) as proxy:
        proxy.when(1_500_000, lambda: put(bytes(other), 1_700_001_000))
        url = f"root://127.0.0.1:{proxy.port}/{file}"
        ended = run(tmp_path, "afar", url)
        assert ended.code == 3, ended.err
        assert url in ended.err
        assert "changed on the server while it was read (date 2023-11-14 22:13:20 →" in ended.err
        put(content, 1_700_000_000)
        ended = forkrun("run", tmp_path / "afar.py", "-o", tmp_path / "afar", cwd=tmp_path)
        assert ended.code == 0, ended.err
    here = run(tmp_path, "here", str(server.data / UNCHECKED))
    assert here.code == 0, here.err
    assert output_digests(tmp_path / "afar") == output_digests(tmp_path / "here")


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
