"""The public API: load a job, run it, merge files. Jobs that are built in Python: analysis/."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from forkrun.base.arguments import check_flags, check_path, check_text, check_texts, refused
from forkrun.base.caller import caller_environment, describing_job_by
from forkrun.base.nearest import suggestion
from forkrun.base.notebook import run_with_progress
from forkrun.base.progress import in_notebook
from forkrun.base.quantities import plural
from forkrun.base.received import CONFIG
from forkrun.base.user_code.plain_errors import show_errors_plainly
from forkrun.batch.submission import Submission
from forkrun.config.anchor import anchor_all
from forkrun.config.choices import AUTO, BatchSystem, children_for
from forkrun.config.datasets import files_of
from forkrun.config.model import JobConfig
from forkrun.config.read import read_config, validate
from forkrun.errors import ConfigError, InputError
from forkrun.fork.command import CleanCommand
from forkrun.merge import merge_files
from forkrun.modules.program.dependence import used_values
from forkrun.modules.program.given import (
    Given,
    contents_for,
    giving,
    handing_over,
    import_path,
    offer,
)
from forkrun.modules.program.own_code import find_in_program
from forkrun.modules.program.state import running_here
from forkrun.parent.result import Result
from forkrun.schedule.input_columns import InputColumns, columns_of_input

__all__ = ["LoadedJob", "Submission", "load", "merge_files"]


class LoadedJob(Struct, frozen=True):
    """A checked configuration, ready to run. `given`: what the running program itself has of its
    modules, by their type; `file`: what describes the job, for messages."""

    config: JobConfig
    given: Mapping[str, Given] = {}
    file: str = "Job"

    def __repr__(self) -> str:
        config = self.config
        numbers = {"module": config.modules, "path": config.paths, "output": config.outputs}
        held = ", ".join(plural(len(each), name) for name, each in numbers.items())
        return f"<LoadedJob {config.job.name!r} of {self.file}: {held}>"

    def run(
        self,
        children: int | str | None = None,
        *,
        threads: int | None = None,
        output: str | Path | None = None,
        force: bool = False,
        quiet: bool = False,
        plots: bool = False,
        explain: bool = False,
        cluster: Any = None,
        nodes: int | None = None,
    ) -> Result:
        """Runs the job in a clean parent process (`children=0`: in this one) and waits for it.
        `output`: the run directory, NAME-run if not given. `plots`: draws those of the report, for
        papers. `cluster`: a `distributed.Client`, on whose workers' nodes
        the job runs, in so many parts as `nodes` says, else as it has workers; they have to see the
        run directory. Raises the same errors as the command stops with."""
        __tracebackhide__ = True  # in notebooks
        offer(self, children=children, threads=threads, output=output)
        call = "job.run(…)"
        check_flags(call, force=force, quiet=quiet, plots=plots, explain=explain)
        if not _is_count(children) and not (isinstance(children, str) and children == AUTO):
            raise refused(call, "children", f'a number or "{AUTO}"', children)
        if not _is_count(threads):
            raise refused(call, "threads", "a number", threads)
        folder = None if output is None else check_path(call, "output", output)
        _check_cluster(call, cluster, nodes, force or plots)
        config = self._with(children, threads)
        folder = folder or config.run_directory
        if cluster is not None:
            from forkrun.batch.submission import run_on_cluster  # for few users

            return run_on_cluster(config, cluster, folder, nodes, quiet)
        if config.forking.children == 0:
            from forkrun.parent.job import run_job  # needs the extension, a clean parent does not

            with giving(self.given), running_here(), describing_job_by(self.file):
                return run_job(
                    config, folder, force=force, quiet=quiet, plots=plots, explain=explain
                )
        flags = _flags(force, quiet, plots) + ["--explain"] * explain
        arguments = ["-o", str(folder.absolute()), *flags]
        _do_in_clean_parent(self.file, config, self.given, "run", arguments)
        return Result.read(folder.absolute())

    def check(self, *, strict: bool = False, blocks: bool = False) -> None:
        """Does what `forkrun check` does: it calls each module with the first events, and says that
        the job can run. Raises every problem it finds, at once. `strict`: warnings are problems;
        `blocks`: so are results that depend on the size of blocks."""
        __tracebackhide__ = True
        offer(self)
        check_flags("job.check(…)", strict=strict, blocks=blocks)
        arguments = ["--strict"] * strict + ["--blocks"] * blocks
        config = validate(self._raw(), "Job.check")
        _do_in_clean_parent(self.file, config, self.given, "check", arguments)

    def columns(self, *patterns: str) -> InputColumns:
        """The columns of the input, and branches that are none and why: a table. `patterns`:
        "Muon_*", or a part of a name. Raises InputError for files that cannot be read."""
        __tracebackhide__ = True
        for pattern in patterns:
            check_text("job.columns(…)", "a pattern", pattern)
        return columns_of_input(self.config).matching(patterns)

    def submit(self, on: str | None = None, **how: Any) -> Submission:
        """Does what `forkrun submit` does: checks and plans the job, and submits it to a batch
        system, "slurm", "htcondor" or "local". `how`: its options as keywords: nodes,
        events_per_node or time_per_node; output, profile, merge, extend, new_code, dry_run, quiet.
        Raises the same errors as the command stops with."""
        __tracebackhide__ = True
        offer(self, on=on, **{key: how[key] for key in how if key not in _FLAGS_OF_SUBMIT})
        words = _words_of_submit({"on": on, **how})
        output = how.get("output")
        output = self.config.run_directory if output is None else output
        folder = check_path(_SUBMIT, "output", output)
        arguments = [*words, "-o", str(folder.absolute())]
        _do_in_clean_parent(self.file, self._with(None, None), self.given, "submit", arguments)
        return Submission(folder.absolute())

    def _raw(self) -> dict[str, Any]:
        """The configuration, with digests of the values that this program has in its modules."""
        raw = self.config.as_json()
        for entry in raw["modules"]:
            given = self.given.get(entry["type"])
            entry["values"] = used_values(
                *(given.functions if given else [find_in_program(entry["type"])])
            )
        return raw

    def _with(self, children: int | str | None, threads: int | None) -> JobConfig:
        raw = self._raw()
        if children is not None:
            raw["forking"]["children"] = children
        if threads is not None:
            if (
                children is None
                and children_for(raw["threads"]["per_child"]) == raw["forking"]["children"]
            ):
                raw["forking"]["children"] = AUTO  # as many as fit, with these threads
            raw["threads"]["per_child"] = threads
        return validate(raw, "Job.run")


_SUBMIT = "job.submit(…)"
_FLAGS_OF_SUBMIT = ("merge", "extend", "new_code", "dry_run", "quiet")
_KEYS_OF_SUBMIT = ("on", "nodes", "events_per_node", "time_per_node", "profile", "output")


def _words_of_submit(how: Mapping[str, Any]) -> list[str]:
    """Options of the command. Raises ConfigError for others, and for values that they cannot
    have."""
    known = (*_KEYS_OF_SUBMIT, *_FLAGS_OF_SUBMIT)
    if unknown := [key for key in how if key not in known]:
        raise ConfigError(f"{_SUBMIT}: unknown keyword {unknown[0]}{suggestion(unknown[0], known)}")
    on, systems = how["on"], [system.value for system in BatchSystem]
    if on is not None and not (isinstance(on, str) and on in systems):
        raise refused(_SUBMIT, "on", " or ".join(f'"{name}"' for name in systems), on)
    for key in ("nodes", "events_per_node"):
        number = how.get(key, 1)
        if not _is_count(number):
            raise refused(_SUBMIT, key, "a number", number)
        if number is not None and number < 1:
            raise ConfigError(f"{_SUBMIT}: {key} must be at least 1, not {number}")
    check_texts(_SUBMIT, **{key: how.get(key) for key in ("time_per_node", "profile")})
    flags = {key: how[key] for key in _FLAGS_OF_SUBMIT if key in how}
    check_flags(_SUBMIT, **flags)
    given = [key for key in _KEYS_OF_SUBMIT if how.get(key) is not None and key != "output"]
    return [
        *(f"--{key.replace('_', '-')}={how[key]}" for key in given),
        *(f"--{key.replace('_', '-')}" for key, value in flags.items() if value),
    ]


def handed(job: LoadedJob, children: Any, threads: Any) -> tuple[dict[str, bytes], dict[str, str]]:
    """Contents and environment of a process that takes the job over from this one, which ends.
    Raises ConfigError."""
    raw = job._with(children, threads).as_json()
    if raw["datasets"] and raw["source"]["files"] == files_of(raw["datasets"]):
        raw["source"]["files"] = []  # --dataset chooses others
    own = {kind: each for kind, each in job.given.items() if kind.startswith("given:")}
    contents = contents_for(own) | {CONFIG: json.dumps(raw).encode()}
    return contents, {**os.environ, "PYTHONPATH": import_path(), **caller_environment(job.file)}


def load(file: str | Path, **sections: Any) -> LoadedJob:
    """The job described by a TOML or JSON file. Keywords replace what it says:
    `load("x.toml", source={"files": ["a.root"]})`; paths in them are relative to the file's folder,
    as in the file. Raises ConfigError with every problem."""
    show_errors_plainly()
    path = check_path("forkrun.load(…)", "file", file)
    anchored = anchor_all(sections, path.resolve().parent)
    return LoadedJob(read_config(file, _settings(anchored)), file=str(file))


def _settings(sections: dict[str, Any]) -> Sequence[tuple[str, Any]]:
    settings: list[tuple[str, Any]] = []
    for section, value in sections.items():
        if isinstance(value, dict):
            settings += [(f"{section}.{key}", item) for key, item in value.items()]
        else:
            settings.append((section, value))
    return settings


def _is_count(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _check_cluster(call: str, cluster: Any, nodes: Any, has_others: bool) -> None:
    """Raises ConfigError. `has_others`: keywords that a job on a cluster does not have."""
    if cluster is None and nodes is not None:
        raise ConfigError(f"{call}: nodes are those of a cluster: cluster=distributed.Client(…)")
    if cluster is not None and not hasattr(cluster, "scheduler_info"):
        raise refused(call, "cluster", "a distributed.Client", cluster)
    if not _is_count(nodes) or (nodes is not None and nodes < 1):
        raise refused(call, "nodes", "a number from 1", nodes)
    if cluster is not None and has_others:
        raise ConfigError(f"{call}: force and plots are for jobs on this machine, not on a cluster")


def _flags(force: bool, quiet: bool, plots: bool) -> list[str]:
    return ["--force"] * force + ["--quiet"] * quiet + ["--plots"] * plots


def _do_in_clean_parent(
    file: str,
    config: JobConfig,
    given: Mapping[str, Given],
    command: str,
    arguments: Sequence[str],
) -> None:
    """Runs a command with the job in a process of its own: only one with a single thread may fork.
    Functions that it cannot import come to it through an anonymous file. Raises what it raises."""
    __tracebackhide__ = True
    own = {kind: each for kind, each in given.items() if kind.startswith("given:")}
    with tempfile.TemporaryDirectory(prefix="forkrun-") as scratch, handing_over(own) as handed:
        config_file = Path(scratch, "config.json")
        config_file.write_text(json.dumps(config.as_json()))
        more = {**handed.environment, **caller_environment(file)}
        clean = CleanCommand(
            [command, str(config_file), *arguments], Path(scratch, "failure.json"), more
        )
        status = _run(clean, handed.descriptors)
        clean.check(status, "the clean parent process")


def _view_of(words: Sequence[str]) -> Callable[[], Any] | None:
    """Display of a running job in notebooks; None for other commands."""
    if "run" not in words:
        return None
    folder, known = Path(words[words.index("-o") + 1]), list[Any]()

    def view() -> Any:
        if not known:
            from forkrun.monitoring.live.screen import RunningJob  # for notebooks alone

            with contextlib.suppress(InputError):
                known.append(RunningJob(folder))
        return known[0] if known else None

    return view


def _run(clean: CleanCommand, descriptors: Sequence[int]) -> int:
    if in_notebook():
        return run_with_progress(clean.words, clean.environment, descriptors, _view_of(clean.words))
    return subprocess.run(
        clean.words, env=clean.environment, stdin=subprocess.DEVNULL, pass_fds=descriptors
    ).returncode
