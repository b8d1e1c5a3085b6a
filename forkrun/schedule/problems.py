"""Problems of a job found without calling its modules: those of input branches and output formats,
with the file and a remedy, and those of paths."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from forkrun import _core
from forkrun.config.choices import OutputMode
from forkrun.config.outputs import OutputConfig
from forkrun.errors import ConfigError
from forkrun.formats import Format
from forkrun.formats.column_types import ColumnType
from forkrun.formats.lcio import LCIO, PARAMETERS, RUN_HEADER, problem_of
from forkrun.formats.rntuple import RNTUPLE
from forkrun.formats.ttree import TTREE
from forkrun.index.model import Branch, FileIndex
from forkrun.rundir.output_content import OutputContent
from forkrun.schedule.input_branches import InputBranches, all_branches, types_of
from forkrun.schedule.variations import Wiring
from forkrun.schedule.versions import AT_INPUT

if TYPE_CHECKING:
    from forkrun.modules.python_module import PythonModule

Names = Collection[str]
_SHOWN = 5
_MOST_NAMED = 20
"""Longest list of branches that a user would write out."""


def disagreements(
    given: InputBranches, used: Iterable[str], excused: Mapping[int, Names] = {}, kept: Names = ()
) -> list[str]:
    """Used branches that some file lacks or has with another type, one line per file, with a
    remedy. Files without events and filled branches are ignored. `excused`: by dataset number,
    columns that its files may lack; `kept`: branches in outputs."""
    if given.is_checked:
        return []
    wanted = set(used)
    of_trees = [problem for tree in given.with_events for problem in disagreements(tree, wanted)]
    of_trees += _without_value(given, wanted)
    files = [file for file in given.files if file.n_entries]
    branches, may_lack = all_branches(given.files), given.fills
    names = [name for name in branches if name in wanted]
    alike: dict[tuple[int, int], FileIndex] = {}
    for file in files:
        alike.setdefault((id(file.branches), id(file.members)), file)
    types = {key: types_of(file, kept) for key, file in alike.items()}
    first = {name: kind for each in reversed(types.values()) for name, kind in each.items()}
    return [
        problem
        for file in files
        for problem in _of_file(
            file,
            types[id(file.branches), id(file.members)],
            names,
            first,
            branches,
            may_lack.keys() | {*excused.get(file.dataset, ())},
            given.prefix,
        )
    ] + of_trees


def _without_value(given: InputBranches, used: set[str]) -> Iterator[str]:
    """Friend columns without a fill pattern for events that have no partner."""
    parts = given.files[0].friends if given.files else ()
    for number, part in enumerate(parts):
        names = [n for n in part.columns if n in used and n not in given.fills_of_friends]
        if part.is_filled and names:
            yield (
                f"source.friends[{number}].missing.fill: {_shown(names)}, which the job reads or"
                f' keeps, has no value where an event has no partner; add "{names[0]}" = 0, or the'
                " like"
            )


def _of_file(
    file: FileIndex,
    own: Mapping[str, str],
    names: Sequence[str],
    types: Mapping[str, str],
    branches: dict[str, Branch],
    may_lack: Collection[str],
    prefix: str,
) -> list[str]:
    missing = [name for name in names if name not in own and name not in may_lack]
    other = [name for name in names if name in own and own[name] != types[name]]
    short = [name for name in file.short_branches if name in names]
    problems = []
    if short:
        problems.append(
            f"{file.path}: {_shown(short)}, which the job reads or keeps, has fewer entries than"
            f" its tree: it was made when that had some already; {_remedy(short)}"
        )
    if missing and prefix:
        problems.append(
            f"{file.path}: this file lacks {_shown(missing)}, which other files have and the job"
            f" reads or keeps; trees that go with the events are not filled: {_remedy(missing)}"
        )
    elif missing:
        problems.append(missing_branches(file, missing, branches))
    twice = [name for name in sorted(may_lack) if " and " in own.get(name, "")]
    if twice:
        problems.append(
            f"{file.path}: {_shown(twice)} occurs more than once, and others lack it: it cannot be"
            f" filled; leave it out of the outputs: drop = {_quoted(twice)}"
        )
    if other:
        name = other[0]
        problems.append(
            f'{file.path}: branch "{name}" is {own[name]}, but {types[name]} in other'
            f" files; {_remedy_of_other(other, names, branches)}"
        )
    return problems


def missing_branches(file: FileIndex, names: Sequence[str], branches: dict[str, Branch]) -> str:
    """Message about branches that a file lacks and others have."""
    return (
        f"{file.path}: this file lacks {_shown(names)}, which other files have and the job reads or"
        f" keeps; say what {'they are' if len(names) > 1 else 'it is'} there: source.branches ="
        f" {{ fill = {_filled(names, branches)} }}"
        " (functions know data by events.dataset.is_data, if their dataset has is_data = true), or"
        f" {_remedy(names)}"
    )


def _remedy_of_other(
    other: Sequence[str], names: Sequence[str], branches: dict[str, Branch]
) -> str:
    """Remedy for types that differ; a counter is kept with the lists that it counts."""
    if set(other) & {branches[name].counter for name in names}:
        return (
            "it counts the values of others, which are read and kept with either, if this is left"
            ' out as a column: source.branches = "common"'
        )
    return f"leave it out of the outputs: drop = {_quoted(other)}"


def _remedy(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return f"leave it out of the outputs: drop = {_quoted(names)}"
    return 'leave out what not all files have: source.branches = "common"'


def _shown(names: Sequence[str]) -> str:
    text = ", ".join(names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"branch{'es' if len(names) > 1 else ''} {text}{more}"


def _quoted(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _filled(names: Sequence[str], branches: dict[str, Branch]) -> str:
    """An example for the configuration."""
    counted = {branches[name].counter for name in names}
    shown = [name for name in names if name not in counted] or list(names)
    pairs = [f'"{name}" = {_neutral(branches[name])}' for name in shown[:_SHOWN]]
    return "{ " + ", ".join([*pairs, *(["…"] if len(shown) > _SHOWN else [])]) + " }"


def _neutral(branch: Branch) -> str:
    """Neutral value: 1 for factors such as weights; an index must not point to an object."""
    kind = ColumnType.of(branch.type).element if branch.readable else ""
    if kind == "bool":
        return "false"
    if is_index(branch.name) and kind.startswith("int"):
        return "-1"
    return "1" if "weight" in branch.name.lower() else "0"


def is_index(name: str) -> bool:
    """Whether a column is named like an index of other objects, for example "Muon_genPartIdx"."""
    return name.endswith(("Idx", "IdxG"))


def file_problems(
    branches: InputBranches,
    outputs: Mapping[str, OutputContent],
    consumed: Sequence[str],
    excused: Mapping[int, frozenset[str]],
) -> list[str]:
    """One line for each file that lacks branches read or kept. Files of a dataset need branches
    kept for it, and those that modules always read. `excused`: by dataset number, columns not
    requested there."""
    shared = [content for content in outputs.values() if not content.apart]
    kept = {name for content in shared for name in _names_in(content, branches)}
    may_lack = {number: names - kept for number, names in excused.items()}
    problems = disagreements(branches, kept.union(consumed), may_lack, kept)
    apart = [content for content in outputs.values() if content.apart]
    for number in dict.fromkeys(n for content in apart for n in content.apart):
        own = branches.apart.get(number, branches)
        kept_apart = {name for each in apart for name in _names_in(each.apart[number], own)}
        files = [file for file in branches.files if file.dataset == number]
        others = kept_apart - kept - {*consumed}
        problems += disagreements(replace(own, files=files), others, kept=kept_apart)
    return list(dict.fromkeys(problems))


def _names_in(content: OutputContent, of_input: InputBranches) -> set[str]:
    """Branches of the input and of its accompanying trees, by column name."""
    of_trees = {
        tree.prefix + name
        for tree in of_input.with_events
        for name in content.trees.get(tree.tree, ())
    }
    return {*content.branches} | of_trees


def format_problems(
    output: OutputConfig,
    of_input: Format,
    has_columns: bool,
    names: Sequence[str],
    branches: Iterable[str],
    within: Sequence[str],
    new: Sequence[tuple[str, str]],
) -> list[str]:
    """Contents that an output's format cannot hold. `names`, `within`: kept input branches, out of
    `branches`, and their members; `new`: new columns."""
    return [
        *_parquet_problems(output, has_columns),
        *_format_problems(output, of_input, has_columns),
        *_lcio_problems(output, names, branches, new),
        *_field_problems(output, [*names, *within, *(name for name, _ in new)]),
    ]


def _parquet_problems(output: OutputConfig, has_columns: bool) -> Iterator[str]:
    where = f'outputs "{output.label}": parquet'
    if output.parquet and output.per_lumi:
        yield f"{where}: there is one file for all lumis; leave per_lumi out"
    if not output.parquet and output.format != "parquet":
        return
    if importlib.util.find_spec("pyarrow") is None:
        yield f'{where}: the Python package pyarrow is needed: pip install "forkrun[parquet]"'
    if output.format == "parquet" and output.compression:
        yield f"{where}: its columns are packed by zstd; leave compression out"
    if not has_columns:
        yield f"{where}: nothing that is kept is a column; it has no branches of objects"


def _format_problems(output: OutputConfig, of_input: Format, has_columns: bool) -> Iterator[str]:
    """Formats that cannot be written from this input, or cannot hold objects."""
    of_root, wanted = (TTREE.name, RNTUPLE.name), of_input.name
    is_other = output.format in of_root and wanted not in of_root and not of_input.becomes_root
    if is_other or (output.format == LCIO.name and of_input is not LCIO):
        yield (
            f'outputs.{output.label}: format "{output.format}" cannot be made of files of format'
            f' "{wanted}"; write format = "{wanted}"'
        )
    elif output.format == RNTUPLE.name and not has_columns:
        yield (
            f'outputs.{output.label}: format "rntuple": nothing that is kept is a column, and an'
            ' RNTuple has no branches of objects; write format = "ttree"'
        )


def _lcio_problems(
    output: OutputConfig,
    kept_names: Sequence[str],
    branches: Iterable[str],
    new: Sequence[tuple[str, str]],
) -> Iterator[str]:
    """Contents that LCIO files cannot hold: parts of collections, and columns of other types."""
    if output.format != LCIO.name:
        return
    where = f'outputs.{output.label}: format "lcio"'
    if output.mode is OutputMode.FRIEND:
        yield f"{where}: files of LCIO have no friends; leave mode out"
    if output.compression is not None:
        yield f"{where}: events are compressed by zlib, as LCIO does; leave compression out"
    held = {name.partition(".")[0] for name in kept_names}
    for missing in sorted({*branches} - {*kept_names}):
        first, _, rest = missing.partition(".")
        if rest and first in held - {PARAMETERS, RUN_HEADER}:
            held.remove(first)
            yield (
                f'{where}: "{missing}" is left out, and other columns of "{first}" are not:'
                f' collections are kept or left out whole, with keep or drop = ["{first}.*"]'
            )
    for name, kind in new:
        if problem := problem_of(name, kind):
            yield f"{where}: {problem}"


def _field_problems(output: OutputConfig, names: Iterable[str]) -> Iterator[str]:
    """Names that are invalid for fields of an RNTuple."""
    if output.format != RNTUPLE.name:
        return
    for name in names:
        if set(name) & set("/\\") or not name.isprintable():
            yield (
                f'outputs.{output.label}: "{name}" cannot be the name of a field in an RNTuple;'
                f' write drop = ["{name}"], or format = "ttree"'
            )


def problems_before_trial(
    labels: Sequence[str],
    paths: Mapping[str, Sequence[str]],
    modules: Mapping[str, PythonModule],
    in_cpp: Mapping[str, Wiring],
    types: Mapping[str, str],
) -> list[str]:
    """Problems of paths, and of declared columns if all columns are known in advance, found by
    compiling a schedule of stand-ins. `labels`: of all modules; `paths`: labels on each path;
    `types`: of input columns."""
    is_known = all(m.produces for m in modules.values() if m.kind == "producer")
    is_known = is_known and not any(m.replaces for m in modules.values())
    builder = _core.ScheduleBuilder(list(types.items()), 0, None)
    kind: Any
    for label in labels:
        if module := modules.get(label):
            kind, makes = module.kind, dict(module.produces)
            reads = [name.removesuffix(AT_INPUT) for name in module.consumes]
        elif wiring := in_cpp.get(label):
            kind, reads = wiring.kind, []
            makes = dict.fromkeys(wiring.makes, "float64")  # any type: existence counts
        else:
            continue
        reads, makes = (reads, makes) if is_known else ([], {})
        builder.add_python_module(label, kind, object(), reads, makes)
    for path, on_path in paths.items():
        builder.add_path(path, list(on_path))
    try:
        builder.compile()
    except ConfigError as error:
        return list(error.problems)
    return []
