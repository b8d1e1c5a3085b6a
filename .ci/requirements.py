"""Prints what pyproject.toml asks for: the run-time dependencies and the named groups, one a line.

`build` is what the build backend needs; other names are extras. An extra that contains another one
("forkrun[conditions]") prints what that has."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())
extras = project["project"]["optional-dependencies"]
wanted = list(project["project"]["dependencies"])
for group in sys.argv[1:]:
    wanted += project["build-system"]["requires"] if group == "build" else extras[group]
for name, group in extras.items():
    if f"forkrun[{name}]" in wanted:
        wanted.remove(f"forkrun[{name}]")
        wanted += group
if left := [each for each in wanted if each.startswith("forkrun")]:
    sys.exit(f"{', '.join(left)}: name one extra of this project each, or pip takes another's")
print("\n".join(wanted))
