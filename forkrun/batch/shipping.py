"""Code of a job at its submission: copies in `batch/code/`, named by their SHA-256, including
functions and values of the Python program that submitted it. The fingerprint maps files to copies,
so both change at once."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from forkrun.base.durable import read_json, write_bytes, write_json
from forkrun.base.quantities import count, plural
from forkrun.base.received import GIVEN, STATE, keep_contents, received
from forkrun.base.regular_file import open_regular
from forkrun.base.user_code import import_home
from forkrun.config.model import JobConfig
from forkrun.errors import ConfigError, OutputError
from forkrun.modules.program.given import find_given
from forkrun.modules.program.state import receive_state
from forkrun.parent.job import write_found
from forkrun.parent.preparation import PlannedJob, PreparedJob, index_input
from forkrun.plan.model import read_plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.done import check_submitted
from forkrun.rundir.fingerprint import Fingerprint, read_fingerprint
from forkrun.rundir.ledger import Commit
from forkrun.rundir.output_content import read_contents
from forkrun.rundir.results import RunResults
from forkrun.rundir.shipped_code import digest_of, use_shipped

_MAX_NEIGHBOURS = 200
"""Python files in a module's folder that are shipped although nothing has imported them yet."""


def ship_code(folder: RunDirectory, fingerprint: Fingerprint) -> Fingerprint:
    """Copies all code of the job; returns the fingerprint with its digests. Raises ConfigError if a
    file has changed since the job was prepared."""
    shipped = _with_neighbours(fingerprint["code"])
    folder.code.mkdir(parents=True, exist_ok=True)
    for path, digest in shipped.items():
        data = Path(path).read_bytes()
        if hashlib.sha256(data).hexdigest() != digest:
            raise ConfigError(f"{path}: it was changed while the job was submitted; submit again")
        if not (folder.code / digest).exists():
            write_bytes(folder.code / digest, data, mode=0o600)
    program = keep_program(folder.code)
    return {**fingerprint, "shipped": shipped, **({"program": program} if program else {})}


def _with_neighbours(code: Mapping[str, str]) -> dict[str, str]:
    """Known code and its neighbours, which may be imported later."""
    known = {path: digest for path, digest in code.items() if Path(path).is_file()}
    folders = dict.fromkeys(Path(path).parent for path in known if path.endswith(".py"))
    neighbours = (file for place in folders for file in islice(place.glob("*.py"), _MAX_NEIGHBOURS))
    others = {str(file): digest_of(file) for file in neighbours if not file.is_symlink()}
    return {**{path: digest for path, digest in others.items() if digest}, **known}


def take_shipped(folder: RunDirectory) -> Fingerprint:
    """Makes this process use the submitted code; returns the job's fingerprint. Raises
    OutputError."""
    fingerprint = read_fingerprint(folder.fingerprint)
    try:
        use_shipped(fingerprint.get("shipped", {}), folder.code)
    except (OSError, ValueError) as error:
        raise OutputError(f"{folder.code}: code of the job cannot be read: {error}") from None
    return fingerprint


def take_code(folder: RunDirectory) -> Fingerprint:
    """Makes this process use the submitted code and program; returns the job's fingerprint. Raises
    OutputError."""
    submitted = take_shipped(folder)
    if program := submitted.get("program"):
        take_program(folder.code, program)
    return submitted


def import_modules(folder: RunDirectory, config: JobConfig) -> None:
    """Imports the Python modules of a job as its nodes do."""
    take_code(folder)
    for module in config.modules:
        kind, _, name = module.type.partition(":")
        if kind == "python":
            import_home(name.rpartition(":")[0], f'module "{module.label}"')
        elif kind == "given":
            find_given(module.type, f'module "{module.label}"')


def changed_code(folder: RunDirectory) -> list[str]:
    """Files whose code differs from the submitted one."""
    fingerprint = read_fingerprint(folder.fingerprint)
    known = {path: fingerprint["shipped"].get(path) for path in fingerprint["code"]}
    return [path for path, digest in known.items() if digest and digest_of(Path(path)) != digest]


def take_new_code(folder: RunDirectory, config: JobConfig) -> list[str]:
    """Gives the present code to nodes; returns the changed files. Raises ConfigError or
    OutputError, and leaves the job unchanged, if this would change outputs or anything but code has
    changed."""
    check_computes_all(folder, "resubmit --new-code")
    before = read_fingerprint(folder.fingerprint)
    if before.get("program") and not received(STATE):
        raise ConfigError(
            "resubmit --new-code: this job was submitted by a Python program, which has its "
            f"functions: forkrun submit PROGRAM.py --new-code -o {folder.quoted}"
        )
    job = _prepared_again(folder, config)
    now = job.fingerprint
    check_extends(folder, {**before, "code": {}}, now)
    if changed := changed_outputs(folder, job):
        raise ConfigError(
            "resubmit --new-code: the present code changes results that nodes have already made:"
            f" {', '.join(changed[:5])}; submit the job to another folder"
        )
    old = {p: d for p, d in before["code"].items() if now["code"].get(p) != d}
    if old or now["code"].keys() - before["code"].keys():
        mended = [*before.get("mended", ()), {"time_s": time.time(), "code": old}]
        fingerprint = {**ship_code(folder, now), "units of work": before["units of work"]}
        write_found(folder, job)
        write_json(folder.fingerprint, {**fingerprint, "mended": mended})
    return list(old)


def check_computes_all(folder: RunDirectory, command: str) -> None:
    """Raises OutputError if the job keeps results of an earlier one, which its nodes do not
    compute."""
    run = RunResults.read(folder)
    if run.kept or run.parts:
        raise OutputError(
            f"{command}: {folder.path} keeps results of an earlier job, which nodes do not compute:"
            " collect it, then submit the changed job there"
        )


def check_extends(folder: RunDirectory, before: Fingerprint, now: Fingerprint) -> None:
    """Raises OutputError unless `now` is the submitted job, perhaps with more input."""
    same = {n: digest for n, digest in before["configuration"].items() if n != "source"}
    check_submitted(folder, {**before, "configuration": same}, now)


def _prepared_again(folder: RunDirectory, config: JobConfig) -> PreparedJob:
    """The planned job with the present modules."""
    planned = PlannedJob.of(*index_input(config), time.time(), is_on_nodes=True)
    planned = replace(planned, plan=read_plan(folder))
    return planned.prepared(planned.conditions())


def changed_outputs(folder: RunDirectory, job: PreparedJob) -> list[str]:
    """Outputs and histograms whose columns or axes would change."""
    before = read_contents(folder).by_label
    now = job.schedule.outputs
    changed = [
        f'output "{label}"' for label in {**before, **now} if before.get(label) != now.get(label)
    ]
    forms = read_json(folder.found_out).get("histograms", {}), job.schedule.histogram_forms()
    return changed + [f'histogram "{n}"' for n in {**forms[0], **forms[1]}
                if forms[0].get(n) != forms[1].get(n)]  # fmt: skip


def new_code_warnings(folder: RunDirectory, commits: Sequence[Commit]) -> Iterator[str]:
    """A warning for each change of code: the number of units processed with older code."""
    for mended in read_fingerprint(folder.fingerprint).get("mended", ()):
        yield _words(mended, commits)


def _words(mended: Mapping[str, Any], commits: Sequence[Commit]) -> str:
    n_units = sum(commit.n_units for commit in commits)
    n_before = sum(c.n_units for c in commits if c.end_s < mended["time_s"])
    when = datetime.fromtimestamp(mended["time_s"]).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"{count(n_before)} of {plural(n_units, 'unit')} processed before the code was changed"
        f" at {when} (resubmit --new-code): {', '.join(mended['code']) or 'new files'}"
    )


def keep_program(copies: Path) -> str:
    """Keeps the functions and values of the program in a file that only its user can read or write,
    named by its SHA-256; returns this, or "" if there are none."""
    kept = {name: content for name in (STATE, GIVEN) if (content := received(name))}
    if not kept:
        return ""
    data = msgspec.msgpack.encode(kept)
    digest = hashlib.sha256(data).hexdigest()
    write_bytes(copies / digest, data, mode=0o600)
    return digest


def take_program(copies: Path, digest: str) -> None:
    """Loads the functions and values kept under this SHA-256 into this process. Raises OutputError
    for a file of another user, one that others may write, and other content."""
    place = copies / digest
    try:
        with os.fdopen(open_regular(place), "rb") as file:
            found, data = os.fstat(file.fileno()), file.read()
    except OSError as error:
        raise OutputError(f"{place}: cannot be read: {error}; submit to another folder") from None
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise OutputError(
            f"{place}: it holds functions to be run, but users other than the one running this "
            "node own it or may write it; submit to another folder"
        )
    if hashlib.sha256(data).hexdigest() != digest:
        raise OutputError(
            f"{place}: these are not the functions with which the job was submitted; submit to"
            " another folder"
        )
    keep_contents(msgspec.msgpack.decode(data, type=dict[str, bytes]))
    own = list(sys.path)
    receive_state()
    sys.path += [path for path in own if path not in sys.path]  # possibly of another environment
