"""Prints what pyproject.toml asks for: the run-time dependencies and the named groups, one a line.

`build` is what the build backend needs; other names are extras."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())
wanted = list(project["project"]["dependencies"])
for group in sys.argv[1:]:
    extras = project["project"]["optional-dependencies"]
    wanted += project["build-system"]["requires"] if group == "build" else extras[group]
print("\n".join(wanted))
