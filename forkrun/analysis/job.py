"""A job built in Python: files, the processing of their events, and the run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import tomli_w

from forkrun.analysis.path import MAIN, JobPath
from forkrun.analysis.step import program
from forkrun.analysis.steps import Steps
from forkrun.api import LoadedJob, Submission
from forkrun.base.arguments import check_label, check_text, listed_files, plain_value, refused
from forkrun.base.quantities import plural
from forkrun.base.received import STATE, received
from forkrun.base.user_code.plain_errors import show_errors_plainly
from forkrun.config.anchor import anchor_all
from forkrun.config.model import JobConfig
from forkrun.config.read import validate
from forkrun.errors import ConfigError
from forkrun.fork.command import is_clean_command
from forkrun.modules.program.given import note_job
from forkrun.parent.result import Result
from forkrun.schedule.input_columns import InputColumns

Files = str | Path | Sequence[str | Path]


_CALL = "forkrun.Job(…)"
_MADE_BY = {
    "modules": "job.filter(…), job.define(…), job.hist(…), job.add(…) and their like",
    "paths": 'job.path("NAME")',
    "outputs": 'job.output("LABEL", …)',
}
"""Sections of the configuration made by calls."""
_RUN_SECTIONS = ("output", "force", "quiet", "plots", "explain", "cluster", "nodes")
_INPUT_SECTIONS = ("job", "source", "datasets")
"""Sections that define the input."""
_FRIEND = 'a dict {"files": …, "tree": …, "prefix": …, "by": …}, or several'


def _friends(given: Any) -> list[dict[str, Any]]:
    friends = [given] if isinstance(given, Mapping) else given
    if not isinstance(friends, list | tuple) or not all(isinstance(f, Mapping) for f in friends):
        raise refused(_CALL, "friends", _FRIEND, given)
    listed = (
        {**f, "files": listed_files(_CALL, "friends", f["files"])} if "files" in f else f
        for f in friends
    )
    return [plain_value(_CALL, "friends", friend) for friend in listed]


def _dataset(name: Any, given: Any) -> dict[str, Any]:
    described = dict(given) if isinstance(given, Mapping) else {"files": given}
    if "name" in described:
        what = "has its name before the colon; leave `name` out"
        raise ConfigError(f'{_CALL}: the dataset "{name}" {what}')
    files = listed_files(_CALL, f'files of "{name}"', described.get("files", ()))
    return {"name": check_text(_CALL, "the name of a dataset", name), **described, "files": files}


class Job(JobPath):
    """An analysis in one Python file. `files`: a path, glob or URL, or several; or, by dataset,
    {"ttbar": {"files": […], "cross_section": 831.8}, "data": […]}, or coffea's fileset.json;
    `friends`: trees with further columns, {"tree": "Events", "files": "new.root", "prefix": ""}, or
    several; `sections`: further sections of the configuration, `threads={"per_child": 2}`. Paths
    are relative to the current directory. Its filters, histograms and analyzers form the path
    "main"; `path` begins others.

        job = forkrun.Job("sample.root")
        job.filter("nMuon >= 2").hist("Muon_pt", (50, 0, 200))
        result = job.run(children=4)
    """

    def __init__(
        self,
        files: Files | Mapping[str, Files | Mapping[str, Any]],
        *,
        tree: str = "Events",
        name: str = "job",
        friends: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
        **sections: Any,
    ) -> None:
        show_errors_plainly()
        check_text(_CALL, "tree", tree)
        check_text(_CALL, "name", name)
        super().__init__(MAIN, Steps(), {MAIN: self}, self._named_plugins)
        self._sections: dict[str, Any] = {"job": {"name": name}, "source": {"tree": tree}}
        if isinstance(files, Mapping):
            self._sections["datasets"] = [_dataset(*each) for each in files.items()]
        elif isinstance(files, str | os.PathLike) and str(files).endswith(".json"):
            self._sections["datasets"] = str(files)
        else:
            self._sections["source"]["files"] = listed_files(_CALL, "files", files)
        if not isinstance(friends, tuple) or friends:
            self._sections["source"]["friends"] = _friends(friends)
        self.configure(**sections)
        note_job(self)

    @property
    def job_name(self) -> str:
        """Name of the job; `name` is that of its own path."""
        return str(self._sections["job"].get("name", "job"))

    def configure(self, **sections: Any) -> Self:
        """Sets keys of the configuration: `job.configure(threads={"per_child": 2})`."""
        for section, keys in sections.items():
            if section in _MADE_BY:
                raise ConfigError(
                    f"job.configure({section}=…): these come from {_MADE_BY[section]}"
                )
            if section in _RUN_SECTIONS:
                raise ConfigError(f"{section} is an argument of job.run({section}=…)")
            keys = plain_value("job.configure(…)", section, keys)
            before = self._sections.get(section)
            is_table = isinstance(before, dict) and isinstance(keys, dict)
            self._sections[section] = {**(before or {}), **keys} if is_table else keys
        return self

    def path(self, name: str) -> JobPath:
        """A separate path, which begins with all events; the same path for the same name."""
        check_label("job.path(…)", "name", check_text("job.path(…)", "name", name))
        return self._begun(name, None)

    def _named_plugins(self) -> list[str]:
        plugins = self._sections["job"].get("plugins", ())
        return list(anchor_all({"job": {"plugins": plugins}}, Path.cwd())["job"]["plugins"])

    @property
    def config(self) -> JobConfig:
        """The whole configuration. Raises ConfigError with every problem."""
        return self._config()

    def _config(self, children: Any = None) -> JobConfig:
        raw = self._raw()
        if isinstance(children, int) and not isinstance(children, bool):
            raw["forking"] = {**raw.get("forking", {}), "children": children}
        return validate(raw, Path(program()).name)

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
    ) -> Result:
        """Runs the job in a clean parent process (`children=0`: in this one) and waits for it.
        `output`: the run directory, NAME-run if not given; resumes an interrupted job there; of a
        finished job, keeps results whose dependencies are unchanged and computes the others.
        `force`: computes all. `explain`: gives the reason for each result. `plots`: draws the
        report's plots for papers. Raises the errors of `forkrun.errors`."""
        __tracebackhide__ = True  # in notebooks
        return self._loaded("run", children).run(
            children, threads=threads, output=output, force=force, quiet=quiet, plots=plots,
            explain=explain,
        )  # fmt: skip

    def check(self, *, strict: bool = False, blocks: bool = False) -> None:
        """Checks the job without running it: calls each function with the first events, and prints
        that the job can run. Raises all problems at once. `strict`: warnings are problems;
        `blocks`: so are results that depend on the size of blocks."""
        __tracebackhide__ = True
        self._loaded("check").check(strict=strict, blocks=blocks)

    def columns(self, *patterns: str) -> InputColumns:
        """Table of the columns of the input, and of unreadable branches with the reason.
        `patterns`: "Muon_*", or a part of a name. Raises InputError for files that cannot be
        read."""
        __tracebackhide__ = True
        sections = {key: value for key, value in self._raw().items() if key in _INPUT_SECTIONS}
        return LoadedJob(validate(sections, Path(program()).name)).columns(*patterns)

    def submit(
        self,
        on: str | None = None,
        *,
        nodes: int | None = None,
        events_per_node: int | None = None,
        time_per_node: str | None = None,
        output: str | Path | None = None,
        profile: str | None = None,
        merge: bool = False,
        extend: bool = False,
        new_code: bool = False,
        dry_run: bool = False,
        quiet: bool = False,
    ) -> Submission:
        """Checks and plans the job, and submits it to a batch system, "slurm", "htcondor" or
        "local", as a number of `nodes`, or nodes with a number of events or a time ("2h") each.
        `output`: the run directory, NAME-run if not given; `merge`: a job merges when all nodes are
        done; `extend`: adds new input files to the submitted job; `new_code`: submits its missing
        nodes again, with the present functions. Same as `forkrun submit`. Raises the errors of
        `forkrun.errors`."""
        __tracebackhide__ = True
        return self._loaded("submit").submit(
            on, nodes=nodes, events_per_node=events_per_node, time_per_node=time_per_node,
            output=output, profile=profile, merge=merge, extend=extend, new_code=new_code,
            dry_run=dry_run, quiet=quiet,
        )  # fmt: skip

    def _loaded(self, method: str = "run", children: Any = None) -> LoadedJob:
        """The present job with its functions. `method`: the calling one, for messages; `children`:
        number needed by some distributions."""
        __tracebackhide__ = True
        if is_clean_command() or received(STATE):
            raise ConfigError(
                f"{program()}: importing a module of the job runs the job again; put"
                f' job.{method}(…) under `if __name__ == "__main__":`'
            )
        steps = self._steps.values()
        given = {
            step.type: step.given
            for step in steps
            if step.is_of_program or not isinstance(step.what, str)
        }
        return LoadedJob(self._config(children), given, program())

    def to_toml(self) -> str:
        """The job as a configuration for `forkrun run`. Raises ConfigError for functions that only
        this program has: only those in a module of its own file can be named."""
        only_here = [step.place for step in self._steps.values() if step.is_of_program]
        if only_here:
            raise ConfigError(
                f"{program()}: only this program has {', '.join(only_here)}; move them to a module"
                " that it imports, in a file of their own, and give analyzers with histograms as"
                " classes"
            )
        self.config  # noqa: B018 - says what is wrong
        raw = self._raw()
        modules = [{k: v for k, v in each.items() if k != "place"} for each in raw["modules"]]
        return tomli_w.dumps(_without_none({**raw, "modules": modules}))

    def _raw(self) -> dict[str, Any]:
        paths = {name: path.labels for name, path in self._paths.items() if path.labels}
        outputs = [
            {**each, "paths": self._selecting_paths(each["paths"])} for each in self._steps.outputs
        ]
        raw = {
            **self._sections,
            "modules": [step.entry() for step in self._steps.values()],
            "paths": paths,
            "outputs": outputs,
        }
        return anchor_all({key: value for key, value in raw.items() if value}, Path.cwd())

    def _selecting_paths(self, paths: Any) -> Any:
        """Paths of an output; none if one of them has no filter and accepts every event."""
        names = paths if isinstance(paths, list) else [paths]
        found = [path for name, path in self._paths.items() if name in names]
        return paths if all(path.labels for path in found) else []

    def __repr__(self) -> str:
        datasets = self._sections.get("datasets") or [self._sections["source"]]
        is_file = isinstance(datasets, str)
        n_files = 0 if is_file else sum(len(each["files"]) for each in datasets)
        files = f"files of {datasets}" if is_file else plural(n_files, "file")
        modules, paths = plural(len(self._steps), "module"), plural(len(self._paths), "path")
        return f"Job({files}, {modules}, {paths})"


def _without_none(value: Any) -> Any:
    """The value without None, which TOML lacks, and with lists for all sequences."""
    if isinstance(value, Mapping):
        return {str(k): _without_none(v) for k, v in value.items() if v is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(map(_without_none, value))
    return value
