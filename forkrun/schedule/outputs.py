"""What an output holds: branches of the input, and new columns."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence

from forkrun import _core
from forkrun.config import JobConfig, OutputConfig, OutputMode, SourceConfig
from forkrun.index import FileIndex, format_of_input
from forkrun.rundir.output_content import OutputContent
from forkrun.schedule.branches import kept, pattern_problems, with_counters
from forkrun.schedule.input_branches import InputBranches

_DECISION = "forkrun_paths_"
"""Before the name of a path, in the name of the column of its decisions."""


def add_output(
    builder: _core.ScheduleBuilder,
    output: OutputConfig,
    of_input: InputBranches,
    produced: Mapping[str, tuple[str, str]],
    source: SourceConfig,
    paths: Sequence[str],
    accepted_by: Sequence[str],
) -> tuple[OutputContent, list[str]]:
    """Adds an output to the schedule. `produced`: products and types of the columns of modules, in
    the order of the schedule; `paths`: of the job; `accepted_by`: those of the output, as they are
    in its variation. Gives what it holds, and what is wrong with it."""
    ids = (source.run_branch, source.lumi_branch, source.event_branch)
    branches = of_input.branches
    decisions = [(f"{_DECISION}{path}", "bool") for path in paths if output.decisions]
    of_friends = [
        (name, kind) for name, kind in of_input.friend_columns(output.keep) if kept([name], output)
    ]
    new_names = [*produced, *dict(decisions), *of_input.friends]
    filled: list[tuple[str, str]] = []
    if output.mode is OutputMode.FRIEND:
        names = [name for name in ids if name in branches]
        problems = pattern_problems(output, new_names)
    else:
        wanted = with_counters(kept(branches, output), branches)
        names = [name for name in wanted if name not in of_input.fills]
        filled = of_input.filled_columns(wanted)
        problems = pattern_problems(output, [*branches, *new_names])
    new = [*filled, *of_friends, *((name, produced[name][1]) for name in kept(produced, output))]
    problems += [*_decision_problems(output, paths), *_parquet_problems(output)]
    content = OutputContent(names, [*new, *decisions])
    products = [produced[name][0] if name in produced else name for name, _ in new]
    builder.add_output(output.label, accepted_by, names, products, output.decisions)
    return content, problems


def _decision_problems(output: OutputConfig, paths: Sequence[str]) -> Iterator[str]:
    if not output.decisions:
        return
    where = f'outputs "{output.label}": decisions'
    if not paths:
        yield f"{where}: the job has no paths whose decisions could be written"
    for path in paths:
        if not path.isidentifier():
            what = "is not a valid column name: use letters, digits and underscores"
            yield f'{where}: path "{path}": "{_DECISION}{path}" {what}'


def _parquet_problems(output: OutputConfig) -> Iterator[str]:
    where = f'outputs "{output.label}": parquet'
    if output.parquet and output.per_lumi:
        yield f"{where}: there is one file for all lumis; leave per_lumi out"
    if output.parquet and importlib.util.find_spec("pyarrow") is None:
        yield f'{where}: the Python package pyarrow is needed: pip install "forkrun[parquet]"'


def output_format_problems(config: JobConfig, index: Sequence[FileIndex]) -> list[str]:
    """Outputs of another format than the input."""
    wanted = format_of_input(index).name
    return [
        f'outputs.{output.label}: format "{output.format}" cannot be made of files of format'
        f' "{wanted}"; write format = "{wanted}"'
        for output in config.outputs
        if output.format != wanted
    ]
