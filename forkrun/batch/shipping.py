"""Code of a job, as it was when the job was submitted: copies in `batch/code/`, named by their
SHA-256, among them functions of the program in Python that submitted it. Which file is which copy
says the fingerprint, so that both change at once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from forkrun.base.durable import read_json, write_bytes, write_json
from forkrun.base.quantities import count
from forkrun.base.received import STATE, received
from forkrun.base.user_code import import_home
from forkrun.batch.program import keep_program, take_program
from forkrun.config import JobConfig
from forkrun.errors import ConfigError, OutputError
from forkrun.modules.program.given import find_given
from forkrun.parent.job import write_found
from forkrun.parent.preparation import PlannedJob, PreparedJob, index_input
from forkrun.plan.stored import read_plan
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.fingerprint import Fingerprint, read_fingerprint
from forkrun.rundir.ledger import Commit
from forkrun.rundir.output_content import read_contents
from forkrun.rundir.resume import check_extends
from forkrun.rundir.shipped_code import digest_of, use_shipped

_MOST_BESIDE = 200
"""Python files beside a module that are shipped although nothing has imported them yet."""


def ship_code(folder: RunDirectory, fingerprint: Fingerprint) -> Fingerprint:
    """The fingerprint with the digests of all code of the job, which is copied. Raises ConfigError
    if a file has been changed since the job was prepared."""
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
    """Code that is known, and what else lies beside it: it may be imported later."""
    known = {path: digest for path, digest in code.items() if Path(path).is_file()}
    folders = dict.fromkeys(Path(path).parent for path in known if path.endswith(".py"))
    beside = (file for place in folders for file in islice(place.glob("*.py"), _MOST_BESIDE))
    others = {str(file): digest_of(file) for file in beside if not file.is_symlink()}
    return {**{path: digest for path, digest in others.items() if digest}, **known}


def take_shipped(folder: RunDirectory) -> Fingerprint:
    """From now on this process has the code that the job was submitted with; gives the fingerprint
    that says so. Raises OutputError."""
    fingerprint = read_fingerprint(folder.fingerprint)
    try:
        use_shipped(fingerprint.get("shipped", {}), folder.code)
    except (OSError, ValueError) as error:
        raise OutputError(f"{folder.code}: code of the job cannot be read: {error}") from None
    return fingerprint


def take_code(folder: RunDirectory) -> Fingerprint:
    """From now on this process has the code and the program that the job was submitted with; gives
    the fingerprint that says so. Raises OutputError."""
    submitted = take_shipped(folder)
    if program := submitted.get("program"):
        take_program(folder.code, program)
    return submitted


def import_modules(folder: RunDirectory, config: JobConfig) -> None:
    """Imports the modules in Python of a job, as its nodes have them."""
    take_code(folder)
    for module in config.modules:
        kind, _, name = module.type.partition(":")
        if kind == "python":
            import_home(name.rpartition(":")[0], f'module "{module.label}"')
        elif kind == "given":
            find_given(module.type, f'module "{module.label}"')


def changed_code(folder: RunDirectory) -> list[str]:
    """Files whose code is another one than the job was submitted with."""
    fingerprint = read_fingerprint(folder.fingerprint)
    known = {path: fingerprint["shipped"].get(path) for path in fingerprint["code"]}
    return [path for path, digest in known.items() if digest and digest_of(Path(path)) != digest]


def take_new_code(folder: RunDirectory, config: JobConfig) -> list[str]:
    """From now on nodes have the code that there is now; gives the files that have changed. Raises
    ConfigError or OutputError if it would make other outputs, or something else has changed as
    well: the job then is as it was."""
    before = read_fingerprint(folder.fingerprint)
    if before.get("program") and not received(STATE):
        raise ConfigError(
            "resubmit --new-code: a program in Python has submitted this job, which knows its"
            f" functions: forkrun submit PROGRAM.py --new-code -o {folder.quoted}"
        )
    job = _prepared_anew(folder, config)
    now = job.fingerprint
    check_extends({**before, "code": now["code"]}, now)
    if changed := changed_outputs(folder, job):
        raise ConfigError(
            f"resubmit --new-code: the present code changes what nodes have made already:"
            f" {', '.join(changed[:5])}; submit the job to another folder"
        )
    old = {p: d for p, d in before["code"].items() if now["code"].get(p) != d}
    if old or now["code"].keys() - before["code"].keys():
        mended = [*before.get("mended", ()), {"time_s": time.time(), "code": old}]
        fingerprint = {**ship_code(folder, now), "units of work": before["units of work"]}
        write_found(folder, job)
        write_json(folder.fingerprint, {**fingerprint, "mended": mended})
    return list(old)


def _prepared_anew(folder: RunDirectory, config: JobConfig) -> PreparedJob:
    """The job as it was planned, with modules as they are now."""
    planned = PlannedJob.of(*index_input(config), time.time(), is_on_nodes=True)
    planned = replace(planned, plan=read_plan(folder))
    return planned.prepared(planned.conditions())


def changed_outputs(folder: RunDirectory, job: PreparedJob) -> list[str]:
    """Outputs that would have other columns, and histograms of another form, than before."""
    before = read_contents(folder).by_label
    now = job.schedule.outputs
    changed = [
        f'output "{label}"' for label in {**before, **now} if before.get(label) != now.get(label)
    ]
    forms = read_json(folder.found_out).get("histograms", {}), job.schedule.histogram_forms()
    return changed + [f'histogram "{n}"' for n in {**forms[0], **forms[1]}
                if forms[0].get(n) != forms[1].get(n)]  # fmt: skip


def words_of_new_code(folder: RunDirectory, commits: Sequence[Commit]) -> Iterator[str]:
    """A warning for each time that nodes were given other code: how much is of the code before."""
    for mended in read_fingerprint(folder.fingerprint).get("mended", ()):
        yield _words(mended, commits)


def _words(mended: Mapping[str, Any], commits: Sequence[Commit]) -> str:
    n_units = sum(commit.n_units for commit in commits)
    n_before = sum(c.n_units for c in commits if c.end_s < mended["time_s"])
    when = datetime.fromtimestamp(mended["time_s"]).strftime("%Y-%m-%d %H:%M:%S")
    return (
        f"{count(n_before)} of {count(n_units)} units were processed before the code was changed"
        f" at {when} (resubmit --new-code): {', '.join(mended['code']) or 'new files'}"
    )
