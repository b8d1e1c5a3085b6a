"""Copies by a command of the user: input to a node's scratch disk, outputs to storage."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from forkrun.base.durable import read_json, write_json
from forkrun.batch.command_lines import filled, variables, with_variables
from forkrun.batch.site_formats import checksums, outputs
from forkrun.errors import InputError, OutputError
from forkrun.plan.part import Part
from forkrun.rundir.directory import RunDirectory

_TRIES, _WAIT_S = 3, 2.0
"""A failed command is repeated after growing delays."""


def stage_in(command: str, part: Part, folder: Path) -> dict[str, str]:
    """Copies the input files of a node's part; returns the copies by original path. Raises
    InputError."""
    copies = {}
    folder.mkdir()
    for number, (source, n_bytes) in enumerate(part.bytes_by_path.items()):
        copy = folder / f"{number:05d}-{Path(source).name}"
        problem = _copied(command, {"source": source, "target": str(copy)}, copy, n_bytes)
        if problem:
            raise InputError(f"{source}: batch.stage_in: {problem}")
        copies[source] = str(copy)
    return copies


def stage_out(command: str, folder: RunDirectory) -> Iterator[str]:
    """Copies the outputs that earlier calls have not recorded as copied; yields each name when it
    is done. Raises OutputError."""
    noted = read_json(folder.staged_out)
    for file in outputs(folder):
        sums = checksums(file)
        name = str(file.relative_to(folder.output))
        if noted.get(name) == {**sums, "command": command}:
            continue
        values = {"source": str(file), "name": name, "adler32": sums["adler32"]}
        problem = _copied(command, values)
        if problem:
            raise OutputError(
                f"{file}: batch.stage_out: {problem}; forkrun collect {folder.quoted} tries again"
            )
        noted[name] = {**sums, "command": command}
        write_json(folder.staged_out, noted)
        yield name


def _copied(
    command: str, values: Mapping[str, str], copy: Path | None = None, n_bytes: int = 0
) -> str:
    """Problem after all tries; "" on success. `copy`, `n_bytes`: expected file and size; 0 bytes:
    unknown."""
    shown, problem = filled(command, values), ""
    environment = {**os.environ, **variables(values)}
    line = with_variables(command, values)
    for number in range(_TRIES):
        if number:
            time.sleep(_WAIT_S * number)
        done = subprocess.run(
            ["bash", "-c", line],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            problem = f"exit code {done.returncode} of: {shown}" + "".join(f": {s}" for s in said)
        elif copy and not copy.exists():
            problem = f"{copy} does not exist after: {shown}"
        elif copy and n_bytes and copy.stat().st_size != n_bytes:
            problem = f"{copy.stat().st_size} bytes were copied, not {n_bytes}, by: {shown}"
        else:
            return ""
    return f"{problem} ({_TRIES} times)"
