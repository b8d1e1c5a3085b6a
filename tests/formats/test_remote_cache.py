"""Bytes of remote files are read once: the next job on this machine finds them on its disk,
whatever becomes of server, cache and processes meanwhile."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import (
    PATIENCE_S,
    Ended,
    environment,
    forkrun,
    output_digests,
    write_job,
)
from tests.support.mounts import in_own_mounts
from tests.support.odd_web_server import OddWebServer, odd_web_server

LONG_AGO_S = 1_700_000_000
JOB = """
import forkrun

job = forkrun.Job({file!r}, name="remote", source={source})
path = job.path("loose").filter("nMuon >= 2").hist("MET_pt", (50, 0, 200), name="met")
job.output("skim", paths=["loose"], keep=["*"])
"""
CLEARING = """
import subprocess

import forkrun

class Clearing(forkrun.Filter):
    n_calls = 0

    def filter(self, events):
        self.n_calls += 1
        if self.n_calls == 2:
            subprocess.run({command!r}, check=True)
        return events["nMuon"] >= 2
"""
VERSION = "bytes=0-0"
"""Request of a client that asks for size, ETag and date."""


def sample(folder: Path, seed: int = 1) -> Path:
    settings = SampleSettings(n_events=4000, cluster=500, compression="none", seed=seed)
    write_sample(folder / "s.root", settings)
    os.utime(folder / "s.root", (LONG_AGO_S, LONG_AGO_S))
    return folder / "s.root"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample(tmp_path_factory.mktemp("made"))


@pytest.fixture
def served(tmp_path: Path, made: Path) -> Path:
    """The folder of a server."""
    (tmp_path / "served").mkdir()
    shutil.copy2(made, tmp_path / "served")
    return tmp_path / "served"


@pytest.fixture
def server(served: Path) -> Iterator[OddWebServer]:
    with odd_web_server(served) as one:
        yield one


class Site:
    """Jobs with a cache of their own. They wait for servers for a second at most."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache/remote"
        self.env = environment(
            FORKRUN_CACHE=str(folder / "cache"),
            FORKRUN_REMOTE_PAUSES="0,0",
            FORKRUN_REMOTE_LIMITS="5,5",
        )
        # tests may run on a disk that machines share
        self.source: dict[str, Any] = {"cache": "on", "cache_limit": "1 GB"}

    def run(self, name: str, file: str, *more: object) -> Ended:
        job = self.folder / f"{name}.py"
        job.write_text(JOB.format(file=file, source=self.source))
        options = ("--children", 1, *more)
        return forkrun(
            "run", job, "-o", self.folder / name, *options, cwd=self.folder, env=self.env
        )

    def digests(self, name: str, file: str, *more: object) -> dict[str, str]:
        ended = self.run(name, file, *more)
        assert ended.code == 0, ended.err
        return output_digests(self.folder / name)

    def report(self, name: str) -> Any:
        return json.loads((self.folder / name / "report.json").read_text())

    def tell(self, *words: object) -> Any:
        ended = forkrun("cache", *words, "--json", cwd=self.folder, env=self.env)
        assert ended.code == 0, ended.err
        return json.loads(ended.out)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("children", [0, 2])
def test_a_second_job_asks_the_server_for_the_version_alone(
    site: Site, server: OddWebServer, made: Path, children: int
) -> None:
    first = site.digests("first", server.url("as-is/s.root"), "--children", children)
    totals = site.report("first")["totals"]
    assert totals["read_bytes"] > 0  # but for what the index has read
    server.requests.clear()
    second = site.digests("second", server.url("as-is/s.root"), "--children", children)
    assert {asked for _, asked in server.requests} == {VERSION}
    assert len(server.requests) == 1
    totals = site.report("second")["totals"]
    assert (totals["read_calls"], totals["read_bytes"]) == (0, 0)
    assert totals["cached_bytes"] > 10_000
    text = (site.folder / "second/report.txt").read_text()
    assert "more from this machine's cache" in " ".join(text.split())
    assert first == second == site.digests("here", str(made), "--children", children)
    assert site.cache.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_a_job_that_reads_more_columns_asks_for_these_alone(
    site: Site, server: OddWebServer, made: Path
) -> None:
    url = server.url("as-is/s.root")
    job = write_job(site.folder, {"source": {**site.source, "files": [url]}})
    assert forkrun("check", job, cwd=site.folder, env=site.env).code == 0
    assert site.digests("run", url) == site.digests("here", str(made))
    asked = [each for _, texts in server.requests for each in texts.partition("=")[2].split(",")]
    ranges = sorted(tuple(map(int, text.split("-"))) for text in asked if text != "0-0")
    n_twice = sum(max(0, a[1] + 1 - b[0]) for a, b in itertools.pairwise(ranges))
    assert n_twice < made.stat().st_size / 20  # what is between two ranges of a request
    assert 0 < site.tell("show")["n_kept_bytes"] < 2 * made.stat().st_size


@pytest.mark.slow
def test_files_of_a_server_that_is_gone_are_read_from_the_cache_with_a_note(
    site: Site, served: Path
) -> None:
    with odd_web_server(served) as server:
        url = server.url("as-is/s.root")
        first = site.digests("first", url)
    ended = site.run("second", url)
    assert ended.code == 0, ended.err
    assert f"{url}: the server does not answer (" in ended.err
    assert output_digests(site.folder / "second") == first
    warnings = site.report("second")["warnings"]
    assert [w for w in warnings if "did not answer: its files were read from this machine's" in w]
    unknown = site.run("other", url.replace("s.root", "other.root"))
    assert unknown.code == 3
    site.source["cache"] = "off"
    assert site.run("off", url).code == 3


@pytest.mark.slow
def test_a_file_that_the_server_refuses_or_has_no_more_is_not_read_from_the_cache(
    site: Site, server: OddWebServer, served: Path
) -> None:
    site.digests("first", server.url("as-is/s.root"))
    (served / "s.root").rename(served / "moved.root")
    ended = site.run("second", server.url("as-is/s.root"))
    assert ended.code == 3
    assert "HTTP 404" in ended.err


@pytest.mark.slow
def test_a_file_that_was_replaced_on_the_server_is_read_anew(
    site: Site, server: OddWebServer, served: Path, tmp_path: Path
) -> None:
    before = site.digests("first", server.url("as-is/s.root"))
    (tmp_path / "new").mkdir()
    new = sample(tmp_path / "new", seed=2)
    os.replace(new, served / "s.root")  # of the same date, and nearly the same size
    after = site.digests("second", server.url("as-is/s.root"))
    assert after != before
    assert after == site.digests("here", str(served / "s.root"))


@pytest.mark.slow
@pytest.mark.parametrize("odd", ["no-version", "whole"])
def test_without_a_version_nothing_is_kept(site: Site, server: OddWebServer, odd: str) -> None:
    site.run("first", server.url(f"{odd}/s.root"))
    assert site.tell("show")["files"] == []


@pytest.mark.slow
def test_damaged_bytes_of_the_cache_are_read_again(
    site: Site, server: OddWebServer, made: Path
) -> None:
    first = site.digests("first", server.url("as-is/s.root"))
    (file,) = site.cache.iterdir()
    content = bytearray(file.read_bytes())
    for place in range(20_000, made.stat().st_size, 100_000):
        content[place] ^= 1
    file.write_bytes(content)
    server.requests.clear()
    assert site.digests("second", server.url("as-is/s.root")) == first
    assert {asked for _, asked in server.requests} > {VERSION}
    server.requests.clear()
    assert site.digests("third", server.url("as-is/s.root")) == first
    assert {asked for _, asked in server.requests} == {VERSION}


@pytest.mark.slow
def test_the_cache_is_shown_filled_and_cleared(
    site: Site, server: OddWebServer, made: Path
) -> None:
    url = server.url("as-is/s.root")
    n_bytes = made.stat().st_size
    assert site.tell("fill", url) == {
        "folder": str(site.cache), "read_bytes": n_bytes, "cached_bytes": 0,
    }  # fmt: skip
    assert site.tell("fill", url)["cached_bytes"] == n_bytes
    (file,) = site.tell("show")["files"]
    assert (file["name"], file["n_bytes"]) == (url, n_bytes)
    assert n_bytes <= file["n_kept_bytes"] < 1.05 * n_bytes
    shown = forkrun("cache", cwd=site.folder, env=site.env)
    assert url in shown.out
    server.requests.clear()
    site.digests("run", url)
    assert {asked for _, asked in server.requests} == {VERSION}
    assert site.tell("clear")["n_removed_bytes"] == file["n_kept_bytes"]
    assert site.tell()["files"] == []
    for words in (("fill",), ("clear", url)):
        assert forkrun("cache", *words, cwd=site.folder, env=site.env).code == 2


@pytest.mark.slow
def test_clearing_the_cache_does_no_harm_to_a_job(
    site: Site, server: OddWebServer, made: Path
) -> None:
    command = [sys.executable, "-m", "forkrun", "cache", "clear"]
    (site.folder / "clearing.py").write_text(CLEARING.format(command=command))
    digests = []
    for name, file in (("here", str(made)), ("first", server.url("as-is/s.root"))):
        job = write_job(
            site.folder,
            {
                "source": {"files": [file], **site.source},
                "threads": {"block_size": 500},
                "modules": [{"label": "clear", "type": "python:clearing.py:Clearing"}],
                "paths": {"some": ["clear"]},
                "outputs": [{"label": "some", "paths": ["some"]}],
            },
        )
        ended = forkrun("run", job, "-o", site.folder / name, cwd=site.folder, env=site.env)
        assert ended.code == 0, ended.err
        digests.append(output_digests(site.folder / name))
    assert digests[0] == digests[1]


@pytest.mark.slow
def test_two_jobs_at_once_share_a_cache(site: Site, server: OddWebServer, made: Path) -> None:
    url = server.url("as-is/s.root")
    started = []
    for name in ("a", "b"):
        job = site.folder / f"{name}.py"
        job.write_text(JOB.format(file=url, source=site.source))
        command = [sys.executable, "-m", "forkrun", "run", str(job), "-o", name, "--no-plots"]
        started.append(subprocess.Popen(command, cwd=site.folder, env=site.env))
    assert [process.wait(PATIENCE_S) for process in started] == [0, 0]
    digests = [output_digests(site.folder / name) for name in ("a", "b")]
    assert digests == [site.digests("here", str(made))] * 2
    server.requests.clear()
    assert site.digests("third", url) == digests[0]
    assert site.report("third")["totals"]["cached_bytes"] > 10_000


@pytest.mark.long
def test_jobs_that_are_killed_at_any_moment_leave_a_cache_that_is_right(
    site: Site, server: OddWebServer, made: Path
) -> None:
    url, chance = server.url("as-is/s.root"), random.Random(4)
    job = site.folder / "job.py"
    job.write_text(JOB.format(file=url, source=site.source))
    command = [sys.executable, "-m", "forkrun", "run", str(job), "--force", "--no-plots"]
    truth = site.digests("here", str(made))
    for _ in range(12):
        killed = subprocess.Popen(
            [*command, "-o", "killed"], cwd=site.folder, env=site.env, start_new_session=True,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        asked = len(server.requests) + chance.randrange(1, 8)
        deadline = time.monotonic() + PATIENCE_S
        while len(server.requests) < asked and killed.poll() is None:
            assert time.monotonic() < deadline
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.killpg(killed.pid, 9)
        killed.wait()
        assert site.digests("next", url, "--force") == truth


@pytest.mark.slow
def test_a_full_disk_costs_the_cache_and_not_the_job(site: Site, served: Path, made: Path) -> None:
    """A file system of 400 kB."""
    with odd_web_server(served) as server:
        site.source["cache"] = str(site.folder / "full")
        job = site.folder / "job.py"
        job.write_text(JOB.format(file=server.url("as-is/s.root"), source=site.source))
        ended = in_own_mounts(
            "mkdir full && mount -t tmpfs -o size=400k tmpfs full &&"
            " $PY -m forkrun run job.py -o full-run --children 1 --no-plots",
            site.folder,
        )
    assert ended.returncode == 0, ended.stderr
    assert output_digests(site.folder / "full-run") == site.digests("here", str(made))


@pytest.mark.slow
def test_a_cache_that_cannot_be_made_costs_only_time(
    site: Site, server: OddWebServer, made: Path
) -> None:
    (site.folder / "no-folder").write_text("")
    truth = site.digests("here", str(made))
    for number, folder in enumerate(("no-folder", "no-folder/inside")):
        site.source["cache"] = str(site.folder / folder)
        assert site.digests(f"run-{number}", server.url("as-is/s.root")) == truth


@pytest.mark.parametrize(
    ("key", "value"), [("cache", "maybe"), ("cache", "root://h//c"), ("cache_limit", "101%"),
                       ("cache_limit", "-1"), ("cache_limit", "much")]
)  # fmt: skip
def test_settings_that_say_nothing_are_refused(site: Site, key: str, value: str) -> None:
    site.source[key] = value
    ended = site.run("refused", "https://nowhere.invalid/s.root")
    assert ended.code == 2
    assert f"source.{key}" in ended.err


@pytest.mark.slow
def test_another_cache_resumes_a_run(site: Site, server: OddWebServer) -> None:
    site.digests("run", server.url("as-is/s.root"))
    site.source = {"cache": "off"}
    again = site.run("run", server.url("as-is/s.root"))
    assert again.code == 0, again.err
    assert "already done" in again.err
