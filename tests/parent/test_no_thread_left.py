"""A job that may not start its threads: it says so, and never waits for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jobs import environment, forkrun, write_job

_USER = 23_457
"""Of no other process: the limit counts all of a user's; root has none."""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv"
)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Of that user, who may not enter those of pytest."""
    made = Path(tempfile.mkdtemp(prefix="forkrun-"))
    yield made
    shutil.rmtree(made)


@pytest.mark.slow
def test_a_job_without_enough_threads_says_so(folder: Path) -> None:
    assert forkrun("sample", "a.root", "--events", 200, cwd=folder).code == 0
    job = {
        "source": {"files": [str(folder / "a.root")]},
        "modules": [{"label": "h", "type": "expression:MET_pt", "kind": "histogram", "axes": [
            {"bins": 5, "low": 0, "high": 100}]}],
        "paths": {"p": ["h"]},
        "forking": {"children": 4},
        "threads": {"per_child": 2},
    }  # fmt: skip
    write_job(folder, job)
    for place in (folder, *folder.iterdir()):
        os.chown(place, _USER, _USER)
    user = ["setpriv", "--reuid", str(_USER), "--regid", str(_USER), "--clear-groups",
            "--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]  # fmt: skip
    run = f"ulimit -u 5; exec {sys.executable} -m forkrun run job.json -o run -q"
    ended = subprocess.run(
        [*user, "bash", "-c", run],
        env={**environment(), "HOME": str(folder), "FORKRUN_CACHE": "0"},
        capture_output=True, text=True, timeout=120, cwd=folder,
    )  # fmt: skip
    assert ended.returncode == 5, ended.stderr
    assert "ulimit -u" in ended.stderr
