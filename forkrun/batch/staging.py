"""Copies by a command of the user with places for names of files, such as `xrdcp {source}
{target}`: input to a node's scratch disk, outputs to storage."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from forkrun.base.durable import read_json, write_json
from forkrun.base.quantities import plural
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
            problem = f"copied {plural(copy.stat().st_size, 'byte')}, not {n_bytes}, by: {shown}"
        else:
            return ""
    return f"{problem} ({_TRIES} times)"


# --- commands -------------------------------------------------------------------------------------


def variables(values: Mapping[str, str]) -> dict[str, str]:
    """Environment variables for the placeholders of a command: each value, plain and quoted for a
    shell."""
    plain = {_variable(name): value for name, value in values.items()}
    return {**plain, **{f"{name}_QUOTED": shlex.quote(value) for name, value in plain.items()}}


def filled(command: str, values: Mapping[str, str]) -> str:
    """The command as a user would type it, for messages: all placeholders filled, quoted."""
    return _places(values).sub(lambda place: shlex.quote(values[place[1]]), command)


def with_variables(command: str, names: Iterable[str]) -> str:
    """The command with variables for all placeholders, so that no value becomes code. Within
    quotes, where another shell may read it again (`ssh host 'cp {source} …'`), the quoted value is
    used."""
    pieces = _places(names).split(command)
    line, quotes = pieces[0], Quotes()
    quotes.read(line)
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        line += quotes.around(_variable(name)) + text
        quotes.read(text)
    return line


def _variable(name: str) -> str:
    return f"FORKRUN_{name.upper()}"


def _places(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r"\{(" + "|".join(map(re.escape, names)) + r")\}")


class Quotes:
    """The quotes of bash that are open. `$(…)` within quotes begins without any."""

    def __init__(self) -> None:
        self._open = [""]

    def around(self, variable: str) -> str:
        """The variable as one word, or as a part of the quoted text."""
        if not self._open[-1]:
            return f'"${{{variable}}}"'
        quoted = f"${{{variable}_QUOTED}}"
        return quoted if self._open[-1] == '"' else f"'\"{quoted}\"'"

    def read(self, text: str) -> None:
        """Reads the next part of the text."""
        for token in re.findall(r"\\.|\$\(|[\"'()]", text, re.DOTALL):
            self._take(token)

    def _take(self, token: str) -> None:
        now = self._open[-1]
        if now == "'":
            if token.endswith("'"):
                self._open[-1] = ""
        elif token == "$(" or (token == "(" and not now):
            self._open.append("")
        elif token == ")" and not now and len(self._open) > 1:
            self._open.pop()
        elif token == '"':
            self._open[-1] = "" if now else token
        elif token == "'" and not now:
            self._open[-1] = token
