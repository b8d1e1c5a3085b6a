"""Watches which pages become private in children, and at which calls.

Before the children, two processes are forked: one walks the Python objects and records their pages,
the other sleeps and keeps the pages as at the fork, so that a page mapped by only one process is
certainly its own copy. Children inspect their own page tables after every call of a module, for the
first `N_WATCHED_CALLS`, and between units of work.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.durable import open_new, published, write_json, write_text
from forkrun.base.wait_status import describe_status
from forkrun.child.work import Work
from forkrun.errors import JobError
from forkrun.fork.forking import Process, fork_processes
from forkrun.fork.helper import ask_helper
from forkrun.rundir.directory import RunDirectory

INTERPRETER = "(Python itself)"


@contextlib.contextmanager
def watching(work: Work) -> Iterator[Work]:
    """Work with watched children, if the configuration requests it; writes their pages at the end.
    Raises JobError where the kernel does not show page tables."""
    if not work.job.config.monitoring.unshared:
        yield work
        return
    check_page_tables()
    files = work.files.run
    _walk_in_child(work, files)
    watch = _core.PageWatch(len(work.shared.board))
    with _sleeping_process(work.files.run):
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
            "measure unshared: /proc/self/pagemap cannot be read here"
            f" ({error.strerror}): it needs Linux 4.2 or newer with CONFIG_PROC_PAGE_MONITOR, and a"
            " container that shows all of /proc; forkrun measure memory works without it"
        ) from error
    if counts.anonymous_private == 0:
        raise JobError(
            "measure unshared: this kernel does not say which pages are private (bit 56 of"
            " /proc/PID/pagemap is always 0), as some sandboxes do; run it on a plain Linux host,"
            " or use forkrun measure memory"
        )


def _walk_in_child(work: Work, files: RunDirectory) -> None:
    """Records the objects on pages, in a process whose own memory does not matter."""
    log = work.files.run.log("walk", os.getpid())
    ended = ask_helper(lambda _: _walk(work, files), log=log)
    if ended.exit_code:
        why = ended.failure or describe_status(ended.exit_code)
        raise JobError(f"measure unshared: looking at the Python objects failed: {why}; see {log}")


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
        "nodes": work.job.schedule.core.node_labels(),
    }
    write_json(files.unshared_names, names)


@contextlib.contextmanager
def _sleeping_process(folder: RunDirectory) -> Iterator[None]:
    """Preserves the pages of this process in their present state."""
    (pid,) = fork_processes([Process(_sleep, folder.log("sleep", os.getpid()))])
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _sleep() -> int:
    while True:
        signal.pause()


def _write_pages(watch: _core.PageWatch, work: Work, files: RunDirectory) -> None:
    children = work.job.plan.busy_children()
    found = {f"child_{child}": watch.found(child) for child in children}
    at_fork = watch.pages_at_fork()
    with published(files.unshared_pages) as temporary, open_new(temporary) as file:
        np.savez_compressed(file, at_fork=at_fork, **found)  # type: ignore[arg-type]


def read_names(files: RunDirectory) -> Mapping[str, Sequence[str]]:
    """Owners and types by number, and labels of the schedule's nodes."""
    names: Mapping[str, Sequence[str]] = json.loads(files.unshared_names.read_bytes())
    return names
