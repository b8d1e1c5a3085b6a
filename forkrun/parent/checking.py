"""Finds all errors of a job in one round: checks that depend on a failed one are skipped, the
others continue."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct

from forkrun import _core
from forkrun.base.importing import collector_paused
from forkrun.base.notes import take_notes
from forkrun.child.hand_out import HandOut
from forkrun.child.lost_state import lost_states, states_of
from forkrun.config.choices import Executor
from forkrun.config.model import JobConfig
from forkrun.config.remote import use_remote_cache
from forkrun.errors import ConfigError, ForkrunError, ForkSafetyError, InputError
from forkrun.fork.failure import as_forkrun_error
from forkrun.fork.safety import check_safe_to_fork
from forkrun.index.files import find_files
from forkrun.index.friends import with_friends
from forkrun.index.known_ids import with_known_ids
from forkrun.index.model import FileIndex
from forkrun.index.read import try_index
from forkrun.index.whole_input import check_carried, with_datasets
from forkrun.parent.calls import warnings_of
from forkrun.parent.preparation import PlannedJob, PreparedJob
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.opening import make_folders
from forkrun.rundir.unit_files import UnitFiles
from forkrun.schedule.input_branches import InputBranches
from forkrun.schedule.job_schedule import processor_settings
from forkrun.schedule.trial.first_events import FirstEvents, first_events
from forkrun.schedule.trial.rounds import parts_in_time

_MOST_EVENTS = 2000
"""Maximum number of events for calling modules: enough for most to see a selected one."""


class Findings(Struct):
    """`job`: None if errors prevent its preparation; `not_called`: labels of modules that no event
    of the block reached."""

    errors: list[ForkrunError] = []
    warnings: list[str] = []
    job: PreparedJob | None = None
    not_called: Sequence[str] = ()
    n_events_tried: int = 0


def check_job(config: JobConfig) -> Findings:
    """Checks input, conditions, modules and schedule, and calls modules with the first events."""
    found = Findings()
    config, index = _index(config, found)
    if index is None:
        found.errors += _problems_without_input(config)
        return found
    try:
        planned = PlannedJob.of(config, index, time.time())
        conditions = planned.conditions()
    except ForkrunError as error:
        found.errors += [error, *_problems_of_classes(config)]
        return found
    try:
        found.job = planned.prepared(conditions)
    except ForkrunError as error:
        found.errors.append(error)
        return found
    found.warnings += [*planned.plan.warnings, *warnings_of(found.job)]
    _try(found, found.job, planned.index)
    return found


def _index(config: JobConfig, found: Findings) -> tuple[JobConfig, list[FileIndex] | None]:
    """The configuration with the id columns of the files, and the index of the readable files; None
    without any."""
    try:
        files, problems = find_files(config.source)
    except InputError as error:
        found.errors.append(error)
        return config, None
    missing = {problem.file for problem in problems}
    files = [file for file in dict.fromkeys(files) if file not in missing]
    source = config.source
    use_remote_cache(files, source.cache, source.cache_limit, source.cache_decoded)
    index, unreadable = try_index(files, config.source.ids) if files else ([], [])
    if files and not index and (known := with_known_ids(config, files)):
        config = known
        index, unreadable = try_index(files, config.source.ids)
    texts = [*(problem.text for problem in problems), *unreadable]
    found.errors += [InputError(text) for text in texts]
    if index and not found.errors:
        try:
            index = with_friends(index, config.source)
            index = with_datasets(index, config.datasets, config.source.prefixes)
            check_carried(index, config)
        except ForkrunError as error:
            found.errors.append(error)
            return config, None
    return config, index or None


def _problems_without_input(config: JobConfig) -> list[ForkrunError]:
    """Problems found without input: missing files of conditions; required payloads are unknown."""
    plan_less = [c for c in config.conditions if c.file and not Path(c.file).exists()]
    missing: list[ForkrunError] = [
        ConfigError(f'condition "{c.label}": file not found: {c.file}')
        for c in plan_less
        if "://" not in str(c.file)
    ]
    return [*missing, *_problems_of_classes(config)]


def _problems_of_classes(config: JobConfig) -> list[ForkrunError]:
    with collector_paused():
        from forkrun.modules.loading import check_class, find_class
    errors: list[ForkrunError] = []
    for entry in config.modules:
        where = f'module "{entry.label}"'
        try:
            if entry.type.startswith("python:"):
                kind = find_class(entry.type.removeprefix("python:"), where)
                check_class(kind, entry.params, where)
        except ConfigError as error:
            errors.append(error)
    return errors


def _try(found: Findings, job: PreparedJob, index: Sequence[FileIndex]) -> None:
    """Calls the modules of a job with its first events, like a job without children; keeps no
    results."""
    hand_out = HandOut(job.plan, np.ones(len(job.plan.units), dtype=bool), job.joins_previous)
    children = job.plan.busy_children()
    taken = None
    for child in children[:1]:
        taken = hand_out.take_stretch(child, lambda _: (_MOST_EVENTS, _MOST_EVENTS))
    if taken is None:
        return
    branches, numbers = InputBranches.of(index), range(taken[0], sum(taken))
    events = first_events(
        job.config.source, branches, job.plan.units, numbers, _MOST_EVENTS, one_lumi=False
    )
    try:
        with tempfile.TemporaryDirectory(prefix="forkrun-check-") as folder:
            _process(found, job, numbers, events, RunDirectory(Path(folder)))
    except Exception as error:
        found.errors.append(as_forkrun_error(error))
    found.warnings += take_notes()


def _process(
    found: Findings, job: PreparedJob, numbers: range, events: FirstEvents, folder: RunDirectory
) -> None:
    """Processes one event, then as many as the trial takes. `numbers`: of the events' units."""
    schedule = job.schedule
    make_folders(folder)
    files = UnitFiles(folder, job.config.outputs)
    iov = schedule.conditions.enter_unit(numbers[0])
    dataset = job.plan.dataset_of(job.plan.units.stretch(numbers[0], len(numbers)))
    processor = _begun(found, job)
    before = states_of(schedule.modules)

    def commit(_: int, result: _core.UnitResult) -> None:
        schedule.take_histograms()
        found.n_events_tried += result.read.count

    for number, part in enumerate(parts_in_time(events)):
        run, lumi, *_ = part.lumis[0]
        places, lumis = files.places(folder.unit(number)), part.lumis_of_unit
        unit = _core.UnitToDo(
            number, run, lumi, part.ranges, places, iov, True, lumis, _MOST_EVENTS, dataset
        )
        processor.run(partial(next, iter([unit]), None), commit)
    processor.finish()
    found.warnings += lost_states(schedule.modules, before)
    called = set(processor.called())
    found.not_called = [label for label in schedule.modules if label not in called]


def _begun(found: Findings, job: PreparedJob) -> _core.Processor:
    """Makes a processor like that of a child, in this process."""
    config, schedule = job.config, job.schedule
    threads = config.threads.replaced({"executor": Executor.SERIAL, "block_size": _MOST_EVENTS})
    monitoring = config.monitoring.replaced({"timing": True, "trace": False})
    config = config.replaced({"threads": threads, "monitoring": monitoring})
    schedule.core.pre_fork()
    if config.forking.children:
        try:
            check_safe_to_fork()
        except ForkSafetyError as error:
            found.errors.append(error)
    schedule.core.post_fork(0)
    processor = schedule.make_processor(processor_settings(config), _core.StatusBoard(1), 0)
    schedule.core.begin_job()
    return processor
