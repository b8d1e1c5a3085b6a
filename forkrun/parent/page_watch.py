"""Watches which pages become private in children, and which memory is new, and at which calls.

Before the children, a process is forked that walks the Python objects and records their pages.
Children inspect their own page tables around calls of modules, as often as
`monitoring.sampling_cost` allows, and at their start and end.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.durable import open_new, published, write_json, write_text
from forkrun.base.wait_status import describe_status
from forkrun.child.work import Work
from forkrun.errors import JobError
from forkrun.fork.helper import ask_helper
from forkrun.monitoring.report.memory_detail import INTERPRETER
from forkrun.rundir.directory import RunDirectory
from forkrun.schedule.job_schedule import Border

_BORDERS: Mapping[int, tuple[str, str]] = {
    Border.START: ("start of the child", "new at the start of the child"),
    Border.BETWEEN_UNITS: ("between units of work", "new with outputs and commits"),
    Border.LATER: ("later", "new with outputs and commits"),
    Border.END: ("end of the job", "new with outputs and commits"),
    Border.CORE: ("the core, between modules", "new in the core between modules"),
}
"""Event that preceded a sample, and the kind of memory that is new then."""


@contextlib.contextmanager
def watching(work: Work) -> Iterator[Work]:
    """Work with watched children, if the configuration requests it; writes their pages at the end.
    Raises JobError where the kernel does not show page tables."""
    if not work.job.config.monitoring.memory_detail:
        yield work
        return
    check_page_tables()
    files = work.files.run
    _walk_in_child(work, files)
    watch = _core.PageWatch(len(work.shared.board), work.job.config.monitoring.sampling_cost)
    schedule = replace(work.job.schedule, watch=watch)
    yield replace(work, job=replace(work.job, schedule=schedule))
    _write_pages(watch, work, files)


def check_page_tables() -> None:
    """Raises JobError if /proc/PID/pagemap cannot be read, or marks no page of this process as
    private."""
    try:
        counts = _core.count_pages()
    except OSError as error:
        raise JobError(
            "memory detail: /proc/self/pagemap cannot be read here"
            f" ({error.strerror}): it needs Linux 4.2 or newer with CONFIG_PROC_PAGE_MONITOR, and a"
            " container that shows all of /proc; forkrun measure memory works without it"
        ) from error
    if counts.anonymous_private == 0:
        raise JobError(
            "memory detail: this kernel does not say which pages are private (bit 56 of"
            " /proc/PID/pagemap is always 0), as some sandboxes do; run it on a plain Linux host,"
            " or use forkrun measure memory"
        )


def _walk_in_child(work: Work, files: RunDirectory) -> None:
    """Records the objects on pages, in a process whose own memory does not matter."""
    log = work.files.run.log("walk", os.getpid())
    ended = ask_helper(lambda _: _walk(work, files), log=log)
    if ended.exit_code:
        why = ended.failure or describe_status(ended.exit_code)
        raise JobError(f"memory detail: looking at the Python objects failed: {why}; see {log}")


def _walk(work: Work, files: RunDirectory) -> None:
    write_text(files.unshared_maps, Path("/proc/self/maps").read_text())
    pages = _core.ObjectPages()
    modules = {label: module.module for label, module in work.job.schedule.modules.items()}
    for label, value in work.job.schedule.conditions.loaded():
        pages.walk(f"condition {label}", value)
    for label, module in modules.items():
        pages.walk(f"module {label}", module)
    gc.unfreeze()
    pages.walk(INTERPRETER, gc.get_objects(), everything=True)
    with published(files.unshared_objects) as temporary, open_new(temporary) as file:
        np.savez(file, parts=pages.parts())
    names = {
        "owners": pages.owners,
        "types": pages.types,
        "borders": {**_BORDERS, **dict(enumerate(_calls(work), Border.FIRST_NODE))},
    }
    write_json(files.unshared_names, names)


def _calls(work: Work) -> Iterator[tuple[str, str]]:
    """Label of each module or name of each column, and the kind of its memory."""
    for label in work.job.schedule.core.node_labels():
        is_module = label in work.job.schedule.wiring
        yield label, "new in calls of modules" if is_module else "new with columns of the input"


def _write_pages(watch: _core.PageWatch, work: Work, files: RunDirectory) -> None:
    children = work.job.plan.busy_children()
    found = {f"child_{child}": watch.found(child) for child in children}
    at_fork = watch.pages_at_fork()
    grown = {child: watch.grown(child) for child in children}
    with published(files.unshared_pages) as temporary, open_new(temporary) as file:
        np.savez_compressed(file, at_fork=at_fork, **found)  # type: ignore[arg-type]
    write_json(files.unshared_growth, grown)
