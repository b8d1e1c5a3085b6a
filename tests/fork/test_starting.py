"""What a command does at the same time while it starts."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import ROOT, environment, forkrun, write_job

PROGRAM = """
import json, sys
from forkrun.fork.single_thread import limit_library_threads
from forkrun.fork.starting import starting
limit_library_threads()
changed = []
def note(event, arguments):
    if event in ("os.putenv", "os.unsetenv"):
        changed.append(arguments[0].decode())
with starting(lambda: True):
    sys.addaudithook(note)
    import forkrun.cli.parser, awkward, hist, uproot, vector
print(json.dumps(changed))
"""


@pytest.mark.slow
def test_no_import_changes_the_environment_while_root_starts_programs_with_it() -> None:
    """The C library moves the environment when a variable is added; ROOT crashed one time in some
    hundred."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_hundreds_of_commands_that_start_at_once_all_end(tmp_path: Path) -> None:
    """Each in a process of its own, unlike those of other tests: what goes wrong while Python and
    ROOT are loaded at the same time is seen here alone."""
    (file,) = write_sample(tmp_path / "a.root", SampleSettings(20, 1, 1))
    job = write_job(tmp_path, {"source": {"files": [str(file)]}, "outputs": [{"label": "all"}]})

    def start(_: int) -> int:
        return forkrun("check", job, cwd=tmp_path, env=environment()).code

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(start, range(300))) == [0] * 300
