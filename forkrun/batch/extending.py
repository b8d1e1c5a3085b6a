"""More input for a job on many nodes: new files go to new nodes, after the planned ones."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from msgspec.structs import replace

from forkrun.base.destinations import APART, TOGETHER
from forkrun.base.durable import remove
from forkrun.batch.preparing import NodesJob, Split, write_parts
from forkrun.batch.shipping import changed_outputs, check_computes_all, check_extends, take_shipped
from forkrun.config.anchor import is_url
from forkrun.config.choices import EventOrder
from forkrun.config.model import JobConfig
from forkrun.config.read import read_config, validate
from forkrun.errors import ConfigError, OutputError
from forkrun.index.files import input_files
from forkrun.index.known_ids import with_ids_of
from forkrun.index.model import FileIndex
from forkrun.index.read import index_files
from forkrun.index.whole_input import friend_name
from forkrun.parent.again.keeping import Keeping
from forkrun.parent.job import describe_job, read_found, write_found
from forkrun.parent.job_input import plan_input
from forkrun.parent.preparation import PlannedJob, in_order, index_input
from forkrun.plan.model import Plan, read_plan
from forkrun.plan.part import extended, first_units, node_borders
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import differences, listed
from forkrun.rundir.fingerprint import described_job
from forkrun.rundir.nodes import NodeRanges
from forkrun.schedule.found_out import FoundOut

_ELSEWHERE = "submit the whole input to another folder"


def extend_nodes(
    folder: RunDirectory, ranges: NodeRanges, given: JobConfig, split: Split | None
) -> tuple[JobConfig, range]:
    """Plans the files of `given` that are new to the job, under the lock of its run directory;
    returns its configuration and the numbers of the new nodes. Raises ConfigError, InputError or
    OutputError, and leaves the job unchanged."""
    config = read_config(folder.config)
    given = with_ids_of(given, config)
    _check_fragments(folder, config)
    check_computes_all(folder, "submit --extend")
    planned = read_plan(folder)
    plan = first_units(planned, ranges.first_unit[-1])  # if an extension was interrupted
    _check_same(config, given)
    new = _new_files(plan, given)
    if not new:
        return config, range(0)
    before, known = take_shipped(folder), read_found(folder)
    job = _extended(_as_given(config, given), plan, new, ranges, split, known)
    check_extends(folder, before, job.job.fingerprint)
    _check_friends(job.index[: len(plan.files)], before)
    _check_found(folder, job, known)
    kept: dict[str, Any] = {n: before[n] for n in ("shipped", "mended", "program") if n in before}
    whole = replace(job.job, fingerprint={**job.job.fingerprint, **kept})
    job = replace(job, job=whole)
    _write(folder, job, len(ranges))
    return job.job.config, range(len(ranges), len(job.ranges))


def _check_fragments(folder: RunDirectory, config: JobConfig) -> None:
    if folder.is_finished() and not config.merge.keep_temporary:
        raise OutputError(
            f"{folder.path}: this job was collected, and what its nodes had committed was removed;"
            " submit the new files to another folder and join the outputs with forkrun merge, or"
            " keep it next time: submit with --set merge.keep_temporary=true"
        )


def _check_same(config: JobConfig, given: JobConfig) -> None:
    """Raises ConfigError unless only files were added; those of friends come last."""
    check_unchanged(config, given, "submit --extend: only the input may grow")
    for number, (old, new) in enumerate(
        zip(config.source.friends, given.source.friends, strict=True)
    ):
        if new.files[: len(old.files)] != old.files:
            raise ConfigError(
                f"submit --extend: source.friends[{number}].files: the job has"
                f" {', '.join(old.files) or 'none'}; name more files after these"
            )
    if given.source.skip_events or given.source.max_events is not None:
        raise ConfigError(
            "submit --extend: source.skip_events and max_events are for a fixed input only"
        )


def _new_files(plan: Plan, given: JobConfig) -> list[str]:
    """Files of `given` that are new to the job. Remote ones may have moved: a file is identified by
    its UUID and size. Raises ConfigError if a file of the job is missing, or given by two URLs."""
    named = input_files(given.source)
    new = [file for file in named if file not in plan.files]
    lost = set(plan.files) - set(named)
    moved = _by_other_urls(plan, new, given)
    for url, before in moved.items():
        if before not in lost:
            raise ConfigError(
                f"submit --extend: {url} is another URL of a file that the job has already; name "
                "it once"
            )
        lost.remove(before)
    if lost:
        raise ConfigError(f"submit --extend: {min(lost)} is not in the input any more")
    return [file for file in new if file not in moved]


def _by_other_urls(plan: Plan, new: Sequence[str], given: JobConfig) -> dict[str, str]:
    """Planned URL of each file that has moved, by its present URL."""
    planned = zip(plan.files, plan.identities, strict=True)
    before = {identity[:2]: file for file, identity in planned if is_url(file)}
    urls = [file for file in new if is_url(file)]
    index = index_files(urls, given.source.ids) if before and urls else []
    found = {file.path: before.get(file.identity[:2]) for file in index}
    return {url: file for url, file in found.items() if file is not None}


def check_unchanged(config: JobConfig, given: JobConfig, rule: str) -> None:
    """Raises ConfigError that begins with the rule, if anything but input and code differs."""
    formats = {output.label: output.format for output in config.outputs}  # as it was found out
    outputs = tuple(
        output.replaced({"format": output.format or formats.get(output.label, "")})
        for output in given.outputs
    )
    given = with_ids_of(given.replaced({"outputs": outputs}), config)
    described = [described_job(each, may_grow=True) for each in (config, given)]
    for each in described:
        each["datasets"] = {dataset["name"]: dataset for dataset in each["datasets"]}
    if changed := differences(*described):
        raise ConfigError(f"{rule}; what has changed: {listed(changed)}")


def _as_given(config: JobConfig, given: JobConfig) -> JobConfig:
    """The job's configuration with the datasets and friends given now, which may have more files,
    and with the modules of the present program."""
    source = config.source.replaced({"friends": given.source.friends})
    now = {"source": source, "datasets": given.datasets, "modules": given.modules}
    return config.replaced(now)


def _check_friends(index: Sequence[FileIndex], before: Mapping[str, Any]) -> None:
    """Raises ConfigError if files that were planned have other friends now."""
    for file in index:
        for friend in (each for part in file.friends for each in part.files):
            if friend_name(friend) not in before["input"]:
                raise ConfigError(
                    f"submit --extend: {friend.path} would be a friend of {file.path}, which has"
                    " another one; name new files of friends after the old ones, in the"
                    " order of the input, or submit to another folder"
                )


def _check_found(folder: RunDirectory, job: NodesJob, known: FoundOut) -> None:
    """Raises ConfigError if the new files would change events that nodes have already made."""
    remedy = _ELSEWHERE
    if changed := changed_outputs(folder, job.job):
        raise ConfigError(
            f"submit --extend: with the branches of the new files {', '.join(changed[:5])} would"
            f" have columns that differ from those already made; {remedy}"
        )
    now = job.job.schedule.found.sums_of_weights
    others = [name for name, total in now.items() if total != known.sums_of_weights.get(name)]
    if others:
        raise ConfigError(
            f"submit --extend: the new files change the sum of weights of {', '.join(others)}, with"
            f" which nodes have already made lumi_weight; {remedy}, or give sum_of_weights of"
            " such a dataset from the beginning"
        )


def _extended(
    config: JobConfig,
    plan: Plan,
    new: Sequence[str],
    ranges: NodeRanges,
    split: Split | None,
    known: FoundOut,
) -> NodesJob:
    """`config`: with the files that the job has already."""
    held = dict.fromkeys(plan.files)
    more_config, whole_config = (_with_files(config, files) for files in (new, [*held, *new]))
    (_, index), order = index_input(whole_config), EventOrder(plan.order)
    _, more = plan_input(in_order(more_config, order), index[len(plan.files) :])
    whole = PlannedJob.of(in_order(whole_config, order), index, time.time(), is_on_nodes=True)
    joined = extended(plan, more, whole.plan)
    if joined is None:
        why = _obstacle_to_append(plan, more, whole.plan)
        raise ConfigError(f"submit --extend: {why}; {_ELSEWHERE}")
    _check_datasets(config, plan, joined)
    planned = replace(whole, config=whole_config, plan=joined, may_reorder=False)
    of_modules = replace(known, branches=None, sums_of_weights={})
    job = planned.prepared(planned.conditions(), of_modules)
    n_before = len(plan.units)
    n_nodes = (split or _same_split(ranges)).count(more.n_events)
    borders = [n_before + place for place in node_borders(more.units, n_nodes)]
    return NodesJob(job, [*ranges.first_unit[:-1], *borders], index, len(plan.files))


def _obstacle_to_append(plan: Plan, more: Plan, whole: Plan) -> str:
    if plan.n_events + more.n_events != whole.n_events:
        return "events of the new files are in the files before as well, and would be dropped"
    if whole.order == EventOrder.SORTED:
        return 'source.order = "sorted" puts events of the new files before others'
    return (
        "a lumi of the new files is in the files before as well, so its events would change their "
        "place"
    )


def _check_datasets(config: JobConfig, plan: Plan, joined: Plan) -> None:
    """Raises ConfigError if a file of the job has another dataset now, or if events of one dataset
    would come after those of another in a common output."""
    if joined.datasets[: len(plan.datasets)] != plan.datasets:
        raise ConfigError(
            f"submit --extend: files that the job has are of other datasets now; {_ELSEWHERE}"
        )
    together = [output.label for output in config.outputs if output.datasets == TOGETHER]
    first = min(joined.datasets[len(plan.datasets) :], default=0)
    last = max(plan.datasets, default=0)
    if together and first < last:
        names = [dataset.name for dataset in config.datasets]
        raise ConfigError(
            f'submit --extend: output "{together[0]}" has several datasets, and events of the new'
            f' files of "{names[first]}" would come after those of "{names[last]}";'
            f' {_ELSEWHERE}, or another time with datasets = "{APART}" of such an output'
        )


def _same_split(ranges: NodeRanges) -> Split:
    """Split into nodes with as many events as the present ones."""
    return Split(events_per_node=max(ceil(sum(ranges.n_events) / max(len(ranges), 1)), 1))


def _with_files(config: JobConfig, files: Sequence[str]) -> JobConfig:
    raw = config.as_json()
    raw["source"] |= {"files": list(files), "list": None}
    return validate(raw, "submit --extend")


def _write(folder: RunDirectory, job: NodesJob, n_before: int) -> None:
    """Writes the nodes' ranges last: nothing else is used without them."""
    remove(folder.merge_summary)
    write_parts(folder, job, range(n_before, len(job.ranges)))
    write_found(folder, job.job)
    describe_job(folder, job.job, Keeping.of(folder, job.job, force=True))
    job.ranges.write(folder)
