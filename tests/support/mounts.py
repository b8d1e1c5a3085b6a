"""Commands that see file systems of their own: small ones, or for reading only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.jobs import PATIENCE_S, environment


def in_own_mounts(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A shell that may mount; $PY is this Python. Skips where that is not allowed."""
    command = ["unshare", "--mount", "--map-root-user", "sh", "-ec", script]
    probe = subprocess.run([*command[:3], "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("no mounts here")
    return subprocess.run(
        command, cwd=cwd, env=environment(PY=sys.executable), capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip
