"""Branches of objects that outputs cannot hold: found before the first event, in a process that may
die of them. ROOT writes some objects anew, and needs to know their classes for that."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forkrun.config import JobConfig, OutputMode
from forkrun.errors import InputError
from forkrun.fork.helper import ask_reader
from forkrun.fork.limits import cpu_limit_s
from forkrun.formats import Format
from forkrun.index import FileIndex
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.outputs import kept

_S_PER_MB = 1.0


def check_object_branches(config: JobConfig, index: Sequence[FileIndex]) -> None:
    """Tries to copy the objects that outputs keep and that are not copied as bytes, with the first
    file that has events. Raises InputError naming the branches that cannot be written."""
    file = next((file for file in index if file.path and file.n_entries), None)
    of_input = InputBranches.of(index)
    wanted = _kept_objects(config, of_input)
    if file is None or not wanted:
        return
    tree, form = config.source.tree, of_input.format
    found = _asked(file.path, lambda: form.written_anew(file.path, tree))
    _check_forms(index, sorted(wanted.difference(found)))
    names = [name for name in dict.fromkeys(found) if name in wanted]
    if not names or _problem(form, file.path, tree, names) is None:
        return
    problems = {name: _problem(form, file.path, tree, [name]) for name in names}
    bad = [name for name, problem in problems.items() if problem] or names
    shown = ", ".join(f'"{name}"' for name in bad)
    raise InputError(
        f"{file.path}: objects of branch {shown} cannot be written to outputs: ROOT has no"
        f" dictionary of their classes here; leave them out of the outputs: drop = [{shown}]"
    )


def _check_forms(index: Sequence[FileIndex], names: Sequence[str]) -> None:
    """Raises InputError if objects that are copied as bytes, one file behind the other, have other
    members in some file."""
    first: dict[str, tuple[str, list[int]]] = {}
    for file in index:
        for name in names:
            forms = [form for branch, form in file.forms if branch == name]
            path, before = first.setdefault(name, (file.path, forms)) if forms else ("", forms)
            if forms != before:
                raise InputError(
                    f'{file.path}: objects of branch "{name}" have other members than in {path};'
                    f" process such files apart, or leave them out of the outputs:"
                    f' drop = ["{name}"]'
                )


def _kept_objects(config: JobConfig, of_input: InputBranches) -> set[str]:
    objects = [name for name, branch in of_input.branches.items() if not branch.readable]
    outputs = [output for output in config.outputs if output.mode is not OutputMode.FRIEND]
    return {name for output in outputs for name in kept(objects, output)}


def _problem(form: Format, file: str, tree: str, names: Sequence[str]) -> str | None:
    """What happens when they are copied; None if nothing does."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = str(Path(folder) / "trial.root")
        try:
            _asked(file, lambda: form.try_copy(file, tree, names, scratch))
        except InputError as error:
            return str(error)
    return None


def _asked(file: str, question: Any) -> Any:
    return ask_reader(lambda _: question(), [file], cpu_limit_s([file], _S_PER_MB))
