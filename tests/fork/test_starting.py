"""What a command does at the same time while it starts."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.jobs import ROOT, environment

PROGRAM = """
import json, sys
from forkrun.fork.single_thread import limit_library_threads
from forkrun.fork.starting import starting
limit_library_threads()
changed = []
def note(event, arguments):
    if event in ("os.putenv", "os.unsetenv"):
        changed.append(arguments[0].decode())
with starting(needs_root=True):
    sys.addaudithook(note)
    import forkrun.cli.parser, awkward, hist, uproot, vector
print(json.dumps(changed))
"""


def test_no_import_changes_the_environment_while_root_starts_programs_with_it() -> None:
    """The C library moves the environment when a variable is added; ROOT crashed one time in some
    hundred."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
