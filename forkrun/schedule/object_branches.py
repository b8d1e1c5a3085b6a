"""Finds branches of objects that outputs cannot hold, before the first event and in a process that
may crash. ROOT rewrites some objects, and needs their classes for that."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forkrun.config.choices import OutputMode
from forkrun.config.model import JobConfig
from forkrun.errors import InputError
from forkrun.fork.helper import ask_reader
from forkrun.fork.limits import cpu_limit_s
from forkrun.formats import Format
from forkrun.index.model import FileIndex
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.outputs import kept, kept_with_events

_S_PER_MB = 1.0


def check_object_branches(config: JobConfig, index: Sequence[FileIndex]) -> None:
    """Tries to copy kept objects that are not copied as bytes, using the first file with events,
    accompanying trees included. Raises InputError naming the branches that cannot be written."""
    of_input = InputBranches.of(index, tree=config.source.tree)
    for tree in (of_input, *of_input.with_events):
        _check_tree(tree, _kept_objects(config, tree))


def _check_tree(of_tree: InputBranches, wanted: set[str]) -> None:
    file = next((file for file in of_tree.files if file.path and file.n_entries), None)
    if file is None or not wanted:
        return
    tree, form, prefix = file.tree or of_tree.tree, of_tree.format, of_tree.prefix
    refers = any(each.other_objects.has_references for each in of_tree.files)
    found = _asked(file.path, lambda: form.rewritten_branches(file.path, tree, refers))
    _check_forms(of_tree.files, sorted(wanted.difference(prefix + name for name in found)))
    names = [name for name in dict.fromkeys(found) if prefix + name in wanted]
    if not names or _tried(form, file.path, tree, [names]) == [True]:
        return
    bad = _bad_ones(form, file.path, tree, names) or names
    shown = ", ".join(f'"{prefix}{name}"' for name in bad)
    raise InputError(
        f"{file.path}: objects of branch {shown} cannot be written to outputs: ROOT has no"
        f" dictionary of their classes here; leave them out of the outputs: drop = [{shown}]"
    )


def _check_forms(index: Sequence[FileIndex], names: Sequence[str]) -> None:
    """Raises InputError if objects that are copied as bytes, file after file, have other members in
    some file."""
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


def _kept_objects(config: JobConfig, tree: InputBranches) -> set[str]:
    objects = [name for name, branch in tree.branches.items() if not branch.readable]
    outputs = [output for output in config.outputs if output.mode is not OutputMode.FRIEND]
    if not tree.prefix:
        return {name for output in outputs for name in kept(objects, output)}
    prefix, columns = tree.prefix, tree.branches
    found = (n for output in outputs for n in kept_with_events(output, prefix, columns))
    return {prefix + name for name in found}.intersection(objects)


def _bad_ones(form: Format, file: str, tree: str, names: Sequence[str]) -> list[str]:
    """Branches that cannot be copied on their own. A process tries them in order; if it dies, a new
    one continues, and a branch is bad if the new process dies at once."""
    bad = []
    while names:
        good = _tried(form, file, tree, [[name] for name in names]) or [False]
        bad += [name for name, is_good in zip(names, good, strict=False) if not is_good]
        names = names[len(good) :]
    return bad


def _tried(form: Format, file: str, tree: str, groups: Sequence[Sequence[str]]) -> list[bool]:
    """Whether each group of branches can be copied, for groups tried before a crash."""
    with tempfile.TemporaryDirectory() as folder:
        notes, scratch = Path(folder) / "notes", str(Path(folder) / "trial.root")

        def try_all() -> None:
            with notes.open("wb", buffering=0) as results:
                for names in groups:
                    results.write(b"1" if _can_copy(form, file, tree, names, scratch) else b"0")

        with contextlib.suppress(InputError):
            _asked(file, try_all)
        return [result == ord("1") for result in notes.read_bytes()] if notes.exists() else []


def _can_copy(form: Format, file: str, tree: str, names: Sequence[str], scratch: str) -> bool:
    try:
        form.try_copy(file, tree, names, scratch)
    except InputError:
        return False
    return True


def _asked(file: str, question: Any) -> Any:
    return ask_reader(lambda _: question(), [file], cpu_limit_s([file], _S_PER_MB))
