"""The environment of coffea, which has other versions of what forkrun uses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_COFFEA = "coffea==2026.9.0"


def coffea_environment(folder: Path) -> Path:
    """Its Python. The environment is made if it is not there."""
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"making the environment of coffea in {folder}: some minutes, once", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", _COFFEA], check=True)
        (folder / "ready").touch()
    return python.absolute()
