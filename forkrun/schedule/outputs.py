"""Contents of outputs: input branches and new columns. The output of a systematic variation has the
events that the variation selects, with its columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from forkrun import _core
from forkrun.base.destinations import APART, DATASET, TOGETHER
from forkrun.base.nearest import close_to, suggestion
from forkrun.config.choices import OutputMode
from forkrun.config.model import JobConfig
from forkrun.config.modules import varied_label
from forkrun.config.outputs import OutputConfig, output_label_problems
from forkrun.config.source import IdBranches
from forkrun.formats import Format
from forkrun.formats.column_types import counter_of, flat_names
from forkrun.formats.rntuple import RNTUPLE
from forkrun.formats.ttree import TTREE
from forkrun.index.model import Branch
from forkrun.index.trees_with_events import names_tree
from forkrun.rundir.output_content import OutputContent
from forkrun.schedule.input_branches import Fill, InputBranches
from forkrun.schedule.job_modules import JobModules
from forkrun.schedule.problems import format_problems
from forkrun.schedule.variations import Variations
from forkrun.schedule.versions import is_plain, plain_name

_DECISION = "forkrun_paths_"
"""Prefix of a path's name in the name of its decision column."""


def add_outputs(
    config: JobConfig, job: JobModules, of_input: InputBranches, problems: list[str]
) -> dict[str, OutputContent]:
    """Adds the outputs to the schedule, and their problems to `problems`. Returns the contents of
    each; a replaced column counts as new."""
    outputs = {}
    together, more = _add_dataset_column(config, job.builder, of_input)
    problems += more
    for output in config.outputs:
        columns = _columns_of(job.builder, job.variations.columns.get(output.variation, {}))
        if together and output.datasets != TOGETHER:
            del columns[DATASET]
        content, more = _content(config, job, output, columns, of_input, together)
        if output.datasets == APART and of_input.apart and not more:
            content, more = _contents_apart(config, job, output, columns, of_input)
        problems += more
        outputs[output.label] = content
        decisions = dict(_decisions(config, output))
        names = [name for name, _ in content.products if name not in decisions]
        products = [columns[name][0] if name in columns else name for name in names]
        paths = varied_of(output, job.variations)
        job.builder.add_output(output.label, paths, content.branches, products, output.decisions)
    return outputs


def _contents_apart(
    config: JobConfig,
    job: JobModules,
    output: OutputConfig,
    columns: Mapping[str, tuple[str, str]],
    of_input: InputBranches,
) -> tuple[OutputContent, list[str]]:
    """Contents of an output with separate files per dataset: own contents for each dataset, their
    union for the whole. Also returns problems of single datasets."""
    apart: dict[int, OutputContent] = {}
    problems: list[str] = []
    for number, dataset in enumerate(config.datasets):
        if config.source.datasets and dataset.name not in config.source.datasets:
            continue
        own = of_input.apart.get(number, of_input)
        found = _content(config, job, output, columns, own, False, of_input.branches)
        apart[number], wrong = found
        problems += [f'{text} (dataset "{dataset.name}")' for text in wrong]
    each = list(apart.values())
    whole = OutputContent(
        list(dict.fromkeys(name for content in each for name in content.branches)),
        list(dict.fromkeys(product for content in each for product in content.products)),
        {tree: names for content in each for tree, names in content.trees.items()},
        list(dict.fromkeys(name for content in each for name in content.members)),
    )
    return replace(whole, apart=apart), problems


def _decisions(config: JobConfig, output: OutputConfig) -> list[tuple[str, str]]:
    return [(f"{_DECISION}{path}", "bool") for path in config.paths if output.decisions]


def _content(
    config: JobConfig,
    job: JobModules,
    output: OutputConfig,
    columns: Mapping[str, tuple[str, str]],
    of_input: InputBranches,
    together: bool,
    of_others: Iterable[str] = (),
) -> tuple[OutputContent, list[str]]:
    """Contents of an output for this input, and problems. `of_others`: further names that patterns
    may match."""
    varied = job.variations.columns.get(output.variation, {})
    twins = _twins(of_input)
    apart = _with_twins({*job.versions.replaced, *varied}, twins)
    apart |= _with_twins({name for name in twins if _is_dropped(name, output)}, twins)
    branches = {n: each for n, each in of_input.branches.items() if n not in apart}
    friends = {n: kind for n, kind in of_input.types_of_friends.items() if n not in apart}
    members = {n: m for n, m in of_input.members.items() if m.readable and n not in apart}
    decisions = _decisions(config, output)
    names, filled = _of_input(output, config.source.ids, branches, of_input.fills)
    named = _named(output, {name: member.type for name, member in members.items()})
    new = [*filled, *_named(output, friends), *named]
    within = _within(output, members, names, {*dict(named)})
    wanted = {*kept(columns, output), *([DATASET] if together else [])}
    new += [(name, kind) for name, (_, kind) in columns.items() if name in wanted]
    known = [*columns, *dict(decisions), *friends, *members]
    of_output = () if output.mode is OutputMode.FRIEND else branches
    has_columns = bool(new or decisions or within) or any(branches[n].readable for n in names)
    problems = [
        *pattern_problems(output, [*of_output, *known], of_input, of_others),
        *_decision_problems(output, config.paths),
        *format_problems(
            output, of_input.format, has_columns, names, branches, within, [*new, *decisions]
        ),
    ]
    trees = _with_events(output, of_input)
    return OutputContent(names, [*new, *decisions], trees, within), problems


def _add_dataset_column(
    config: JobConfig, builder: _core.ScheduleBuilder, of_input: InputBranches
) -> tuple[bool, list[str]]:
    """Adds the column that names the dataset of an event, for outputs of all datasets together.
    Returns whether any output has it, and problems."""
    labels = [output.label for output in config.outputs if output.datasets == TOGETHER]
    if not labels:
        return False, []
    others = {name for name, _ in builder.produced_columns()} | {*of_input.columns}
    if DATASET in others:
        return False, [
            f'outputs.{labels[0]}: datasets = "{TOGETHER}" adds a column "{DATASET}", which the'
            f' input or a module has as well; write datasets = "{APART}", or rename that'
        ]
    builder.add_dataset_column(DATASET, [file.dataset for file in of_input.files])
    return True, []


def _columns_of(
    builder: _core.ScheduleBuilder, varied: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Products and types of modules' columns, in schedule order. `varied`: columns with another
    product in a variation."""
    products = set(varied.values())
    return {
        plain_name(product): (product, kind)
        for product, kind in builder.produced_columns()
        if product in products or (is_plain(product) and product not in varied)
    }


def _twins(of_input: InputBranches) -> dict[str, str]:
    """The other name of columns that an RNTuple has under two, "Jet.pt" and "Jet_pt"."""
    if of_input.format is not RNTUPLE:
        return {}
    said = {name: (branch.type, branch.counter) for name, branch in of_input.branches.items()}
    twins = flat_names(said)
    return twins | {flat: name for name, flat in twins.items()}


def _with_twins(names: Iterable[str], twins: Mapping[str, str]) -> set[str]:
    return {each for name in names for each in (name, twins.get(name, name))}


def _of_input(
    output: OutputConfig, ids: IdBranches, branches: dict[str, Branch], fills: Mapping[str, Fill]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Branches that an output keeps, and those of them that files may lack: the latter become new
    columns, with their own counters."""
    if output.mode is OutputMode.FRIEND:
        return [name for name in ids[1:] if name in branches], []
    wanted = with_counters(kept(branches, output), branches)
    filled = set(wanted) & fills.keys()
    filled -= {fills[n][1] for n in filled if fills[n][1] == counter_of(n)}
    return (
        [name for name in wanted if name not in fills],
        [(name, branches[name].type) for name in branches if name in filled],
    )


def _named(output: OutputConfig, columns: Mapping[str, str]) -> list[tuple[str, str]]:
    """Columns of friends, or members of objects, named by patterns other than "*": new columns of
    an output."""
    wanted = [pattern for pattern in output.keep if pattern != "*"]
    return [
        (name, kind)
        for name, kind in columns.items()
        if any(fnmatchcase(name, pattern) for pattern in wanted) and kept([name], output)
    ]


def _with_events(output: OutputConfig, of_input: InputBranches) -> dict[str, list[str]]:
    """Branches of the trees that accompany the events of an output, by path of the tree."""
    if output.mode is OutputMode.FRIEND or output.format != TTREE.name:
        return {}
    found = {
        tree.tree: kept_with_events(output, tree.prefix, tree.branches)
        for tree in of_input.with_events
    }
    return {tree: names for tree, names in found.items() if names}


def kept_with_events(output: OutputConfig, prefix: str, columns: Mapping[str, Branch]) -> list[str]:
    """Branches that an output keeps of such a tree, by their names there: all, subject to patterns
    with the tree's name. `columns`: those of the tree, with its `prefix`."""
    name = prefix.removesuffix(".")
    keep, drop = ([p for p in ps if names_tree(p, name)] for ps in (output.keep, output.drop))
    wanted = kept(columns, output.replaced({"keep": keep or ["*"], "drop": drop}))
    return [each.removeprefix(prefix) for each in with_counters(wanted, columns)]


def _within(
    output: OutputConfig,
    members: Mapping[str, Branch],
    names: Sequence[str],
    named: Collection[str],
) -> list[str]:
    """Members that replace their objects in Parquet files and RNTuples. `named`: members that are
    new columns anyway."""
    if not output.parquet and output.format not in ("parquet", RNTUPLE.name):
        return []
    return [n for n in kept(members, output) if members[n].top in names and n not in named]


def _decision_problems(output: OutputConfig, paths: Collection[str]) -> Iterator[str]:
    if not output.decisions:
        return
    where = f'outputs "{output.label}": decisions'
    if not paths:
        yield f"{where}: the job has no paths whose decisions could be written"
    for path in paths:
        if not path.isidentifier():
            what = "is not a valid column name: use letters, digits and underscores"
            yield f'{where}: path "{path}": "{_DECISION}{path}" {what}'


def pattern_problems(
    output: OutputConfig,
    names: Sequence[str],
    of_input: InputBranches,
    of_others: Iterable[str] = (),
) -> list[str]:
    """Problems: unknown names in keep and drop, patterns without a match, and outputs left empty.
    `of_others`: names that exist elsewhere."""
    where = f'outputs "{output.label}"'
    known = [*names, *(name for tree in of_input.with_events for name in tree.branches), *of_others]
    problems = []
    all_of = [*known, *of_input.branches]  # including replaced and absent ones
    for key, patterns, there in (("keep", output.keep, known), ("drop", output.drop, all_of)):
        for name in patterns:
            if set(name) & set("*?["):
                said = _without_match(name, all_of) if name != "*" else ""
            else:
                said = of_input.names.missing(name, there) if name not in there else ""
            problems += [f"{where}: {key}: {said}"] if said else []
    if not problems and not names:
        problems.append(f"{where}: the input has no events, and its trees no branches")
    elif not problems and not kept(names, output):
        problems.append(f"{where}: keep and drop leave nothing to write")
    return problems


def _without_match(pattern: str, known: Sequence[str]) -> str:
    """Message about a pattern without matches; "" if a name matches."""
    if any(fnmatchcase(name, pattern) for name in known):
        return ""
    patterns = [re.sub(r"[^_.]*$", "*", name, count=1) for name in known]
    close = close_to(pattern, [*known, *patterns])
    hint = f'; did you mean "{close}"?' if close else ""
    return f'no column or branch matches "{pattern}"{hint}'


def kept(names: Iterable[str], output: OutputConfig) -> list[str]:
    """Names that match a keep pattern and no drop pattern, in the same order."""
    if "*" in output.keep and not output.drop:
        return list(names)
    return [
        name
        for name in names
        if any(fnmatchcase(name, p) for p in output.keep) and not _is_dropped(name, output)
    ]


def _is_dropped(name: str, output: OutputConfig) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in output.drop)


def with_counters(names: Iterable[str], branches: Mapping[str, Branch]) -> list[str]:
    """`names` and the counting branches that jagged ones among them need, in input order."""
    wanted = set(names)
    wanted |= {branches[name].counter for name in wanted if branches[name].counter}
    return [name for name in branches if name in wanted]


def with_format(output: OutputConfig, of_input: Format) -> OutputConfig:
    """The output, with the input format if the job names none."""
    return output if output.format else output.replaced({"format": of_input.name})


def with_variations(
    outputs: Sequence[OutputConfig], variations: Variations, modules: Collection[str]
) -> tuple[list[OutputConfig], list[str]]:
    """Returns each output followed by one for each of its variations, and problems. `modules`:
    labels of modules."""
    made: list[OutputConfig] = []
    problems: list[str] = []
    for output in outputs:
        problems += _variation_problems(output, variations)
        made.append(output.replaced({"variations": ()}))
        made += [
            output.replaced(
                {"label": f"{output.label}_{name}", "variations": (), "variation": name}
            )
            for name in _names(output, variations)
        ]
    labels = [output.label for output in made]
    problems += [
        f'outputs "{label}": another output has the name of this one in a variation; rename it'
        for label in dict.fromkeys(labels)
        if labels.count(label) > 1
    ]
    originals = {output.label for output in outputs}
    taken = [label for label in labels if label in modules and label not in originals]
    problems += [
        f'outputs "{label}": a module has the label of this output in a variation; give one of them'
        " another"
        for label in taken
    ]
    problems += [
        f'outputs "{labels[number]}": {text}'
        for number, text in output_label_problems(labels)
        if labels[number] not in originals
    ]
    return [output for output in made if output.label not in taken], problems


def varied_of(output: OutputConfig, variations: Variations) -> list[str]:
    """Its paths, in the form that they have in its variation."""
    return [
        varied_label(path, output.variation)
        if output.variation in variations.of_path[path]
        else path
        for path in output.paths
    ]


def _names(output: OutputConfig, variations: Variations) -> list[str]:
    if output.variations != "all":
        return list(output.variations)
    return [name for name in variations.names if _differs(output, name, variations)]


def _differs(output: OutputConfig, name: str, variations: Variations) -> bool:
    """Whether the output has other events or columns in a variation."""
    return any(name in variations.of_path[path] for path in output.paths) or bool(
        kept(variations.columns[name], output)
    )


def _variation_problems(output: OutputConfig, variations: Variations) -> Iterator[str]:
    where = f'outputs "{output.label}"'
    named = () if output.variations == "all" else output.variations
    for name in (*named, *filter(None, [output.variation])):
        if name not in variations.names:
            what = "no module has it" + suggestion(name, variations.names)
            yield f'{where}: variations: "{name}": {what}'
    if output.variations and output.variation:
        yield (
            f"{where}: variation: this output belongs to a variation already; leave out variations"
        )
    if output.decisions and (output.variations or output.variation):
        yield (
            f"{where}: decisions are those of the nominal case; give them an output without"
            " variations"
        )
