"""Joins any ROOT files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from forkrun.base.arguments import (
    check_flags,
    check_path,
    check_text,
    listed_files,
    listed_names,
)
from forkrun.base.durable import published, refuse_remote
from forkrun.base.input_files.same_files import find_repeated
from forkrun.base.input_files.urls import register_given_urls, register_url
from forkrun.base.quantities import plural
from forkrun.errors import ConfigError, OutputError
from forkrun.formats import format_of
from forkrun.formats.fields import FileFields, align

Joined = tuple[dict[str, int], list[str], list[dict[str, Any]]]
"""Entries by tree, lines about baskets and about objects that were not merged, and changes of
fields: values for JSON."""
Join = Callable[[Callable[[int], None] | None], Joined]
"""Joins the files; calls its argument with the number of inputs done."""
_CALL = "merge_files(…)"
_MOST_SHOWN = 4


def merge_files(
    inputs: str | Path | Sequence[str | Path],
    output: str | Path,
    trees: str | Sequence[str] | None = None,
    compression: str | None = None,
    force: bool = False,
    progress: Callable[[int], None] | None = None,
    *,
    keep_first: bool = False,
    verify: bool = False,
    note: Callable[[str], None] | None = None,
    recluster: str = "auto",
    format: str | None = None,
    fields: str = "strict",
    note_fields: Callable[[FileFields], None] | None = None,
    needs_checksums: bool = True,
    contained: Callable[[Join], Joined] | None = None,
) -> dict[str, int]:
    """Joins `inputs` in the given order into `output`: trees (all when None) by copying baskets, or
    recompressed when `compression` is given; histograms, graphs and other objects that ROOT can
    merge, merged; others once if they are equal, else it is an error unless `keep_first`. `verify`:
    uncompress and check everything that is copied. `recluster`: rewrite entries in larger baskets:
    "auto" (for files with small baskets, or with `compression`), "always" or "never". `format`:
    "ttree" or "rntuple", for all tables; None: that of the first file with the table. `fields`: of
    tables whose files differ in them: "strict": an error; "union": all, 0, false or empty where a
    file lacks them; "common": those that all files have; numbers of different types get one that
    holds them without loss. `note_fields` gets what that changes of each file's table. Returns the
    entries by tree. `progress` gets the number of inputs done; `note` a line about the baskets of
    each tree, each object that was not merged, and each repeated input. `needs_checksums`: RNTuple
    pages without a checksum are an error. `contained`: joins in a process that may die of a damaged
    file. Raises OutputError, and InputError if a file is damaged or does not fit the others."""
    if check_text(_CALL, "recluster", recluster) not in ("auto", "always", "never"):
        raise ConfigError(f'merge: recluster "{recluster}" must be auto, always or never')
    if format is not None and check_text(_CALL, "format", format) not in ("ttree", "rntuple"):
        raise ConfigError(f'merge: format "{format}" must be ttree or rntuple')
    if check_text(_CALL, "fields", fields) not in ("strict", "union", "common"):
        raise ConfigError(f'merge: fields "{fields}" must be strict, union or common')
    register_given_urls()
    files = list(map(register_url, listed_files(_CALL, "inputs", inputs)))
    if any("://" in file for file in files):
        from forkrun.config.remote import use_remote_cache  # few merges need it

        use_remote_cache(files)
    names = None if trees is None else listed_names(_CALL, "trees", "tree", trees)
    if compression is not None:
        check_text(_CALL, "compression", compression)
    check_flags(
        _CALL, force=force, keep_first=keep_first, verify=verify, needs_checksums=needs_checksums
    )
    final = check_path(_CALL, "output", output)
    _check(files, final, force)
    copies = _copies(files)
    with published(final) as temporary:

        def join(progress: Callable[[int], None] | None) -> Joined:
            lines: list[str] = []
            changes: list[dict[str, Any]] = []
            options: dict[str, Any] = {}
            if fields != "strict":
                options["fields"], found = align(files, fields, names, format)
                lines += _said_of_fields(found)
                changes += [change._asdict() for change in found]
            entries = format_of(files[0]).merge(
                files,
                str(temporary),
                trees=names,
                compression=compression,
                progress=progress,
                keep_first=keep_first,
                verify=verify,
                note=lines.append,
                recluster=recluster,
                format=format,
                needs_checksums=needs_checksums,
                **options,
            )
            return entries, lines, changes

        entries, lines, changes = contained(join) if contained else join(progress)
        if note:
            for line in [*lines, *copies]:
                note(line.replace(str(temporary), str(final)))
    if note_fields:
        for change in changes:
            note_fields(FileFields(**change))
    return entries


def _copies(inputs: Sequence[str]) -> list[str]:
    """Lines about inputs that are the same file as an earlier one, or a copy of it."""
    lines = []
    for first, again in find_repeated(inputs):
        is_same = first == again or os.path.samefile(first, again)
        relation = "the same file as" if is_same else "a copy of"
        lines.append(f"{again} is {relation} {first}: their content is merged twice")
    return lines


def _check(inputs: Sequence[str], output: Path, force: bool) -> None:
    refuse_remote(output)
    if not inputs:
        raise ConfigError("merge: name at least one input file")
    if any(Path(file).resolve() == output.resolve() for file in inputs):
        raise ConfigError(f"merge: {output} is an input as well")
    if output.exists() and not output.is_file():  # it would be replaced by the merged file
        raise OutputError(f"{output}: this is a folder or a device; name a file")
    if output.exists() and not force:
        raise OutputError(f"{output}: this file exists; replace it with --force")


def _said_of_fields(changes: Sequence[FileFields]) -> Iterator[str]:
    """Changes in words; files with the same changes together."""
    filled: dict[tuple[str, str], list[FileFields]] = {}
    for each in changes:
        if each.filled:
            filled.setdefault((each.table, _shown(each.filled)), []).append(each)
    for (table, names), files in filled.items():
        n_entries = plural(sum(each.n_entries for each in files), "entry")
        yield (
            f'"{table}": 0, false or empty in {n_entries} of'
            f" {_shown([each.file for each in files])}, which lack them: {names}"
        )
    for table in dict.fromkeys(each.table for each in changes):
        own = [each for each in changes if each.table == table]
        widened = {n: kind for each in own for n, kind in each.widened.items()}
        left_out = dict.fromkeys(name for each in own for name in each.left_out)
        if widened:
            yield f'"{table}": widened: {_shown([f"{n} to {k}" for n, k in widened.items()])}'
        if left_out:
            yield f'"{table}": left out, as not all files have them alike: {_shown(list(left_out))}'


def _shown(names: Sequence[str]) -> str:
    more = len(names) - _MOST_SHOWN
    return ", ".join(names[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
