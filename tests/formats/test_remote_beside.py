"""Modules that read servers with another XrdCl in children, beside forkrun's own."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import forkrun, output_digests
from tests.support.xrootd_server import XrootdServer, xrootd_server

MODULE = """
import numpy as np
import uproot

import forkrun


class Beside(forkrun.Filter):
    consumes = ("MET_pt",)

    def __init__(self, url: str) -> None:
        self.url = url

    def begin_job(self) -> None:
        with uproot.open(self.url) as file:  # by fsspec and PyPI's xrootd
            self.known = np.sort(file["Events"]["MET_pt"].array(library="np"))

    def filter(self, block):
        with uproot.open(self.url) as file:  # again, while forkrun's own reads are on their way
            first = file["Events"]["MET_pt"].array(library="np", entry_stop=1)[0]
        assert first in self.known
        return np.isin(block["MET_pt"], self.known) & (block["MET_pt"] > first)
"""
JOB = """
[source]
files = ["{file}"]

[[modules]]
label = "beside"
type = "python:beside.py:Beside"
params = {{ url = "{url}" }}

[paths]
all = ["beside"]

[[outputs]]
label = "skim"
paths = ["all"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[XrootdServer]:
    if not all(map(importlib.util.find_spec, ("XRootD", "fsspec_xrootd"))):
        pytest.skip("PyPI's xrootd and fsspec-xrootd are not installed")
    with xrootd_server() as one:
        write_sample(
            one.data / "s.root", SampleSettings(n_events=5000, n_branches=120, cluster=500)
        )
        yield one


@pytest.mark.parametrize("children", [1, 3])
def test_uproot_reads_by_its_own_xrootd_in_children_beside_remote_input(
    tmp_path: Path, server: XrootdServer, children: int
) -> None:
    (tmp_path / "beside.py").write_text(MODULE)
    url = server.url("s.root")
    for name, file in (("here", str(server.data / "s.root")), ("afar", url)):
        job = tmp_path / f"{name}.toml"
        job.write_text(JOB.format(file=file, url=url))
        ended = forkrun("run", job, "-o", tmp_path / name, "--children", children, cwd=tmp_path)
        assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "afar") == output_digests(tmp_path / "here")
