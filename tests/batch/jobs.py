"""Jobs on many nodes, for tests: small, and compared with the same job on one node."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.jobs import (
    Ended,
    environment,
    forkrun,
    jets_job,
    module,
    output_digests,
    served_python,
    write_job,
)


@dataclass(frozen=True)
class Job:
    """A job in a folder. `truth`: digests of what it gives on one node."""

    folder: Path
    file: Path
    truth: dict[str, str]

    @classmethod
    def make(cls, folder: Path, n_lumis: int = 60, time_s: float = 0.0, **sections: Any) -> Job:
        """Of two files with the same lumis."""
        files = [folder / f"{name}.root" for name in ("a", "b")]
        for number, sample in enumerate(files):
            shape = ("--events", 10 * n_lumis, "--lumis", n_lumis, "--seed", number + 1)
            made = forkrun("sample", sample, *shape, cwd=folder)
            assert made.code == 0, made.err
        return cls.of(folder, files, time_s, **sections)

    @classmethod
    def of(
        cls, folder: Path, files: Sequence[Path], time_s: float = 0.0,
        more: Sequence[dict[str, Any]] = (), **sections: Any,
    ) -> Job:  # fmt: skip
        """Two outputs, histograms and sums; each event takes some time, in which another child
        works. `more`: modules, each on a path of its own."""
        job = jets_job(
            files,
            outputs=[{"label": "skim", "paths": ["skim"]}, {"label": "all"}],
            forking={"children": 2 if time_s else 1},
            **sections,
        )
        job["modules"].append(module("added", "SumsJets"))
        job["paths"]["added"] = ["added"]
        for each in more:
            job["modules"].append(each)
            job["paths"][each["label"]] = [each["label"]]
        if time_s:
            job["modules"].append(module("slow", "Sleep", n_first=0, factor=1.0, time_s=time_s))
            job["paths"]["slow"] = ["slow"]
        file = write_job(folder, job)
        fast = ("--set", "modules.slow.params.time_s=0.0") if time_s else ()
        ended = forkrun("run", file, "-o", folder / "one", "-q", *fast, cwd=folder)
        assert ended.code == 0, ended.err
        return cls(folder, file, output_digests(folder / "one"))

    def submit(self, run: Path, *options: object, on: str = "local") -> Ended:
        """Submits it, with a command that finds this forkrun; served on this machine."""
        return forkrun(*submission_of(self.file, run, *options, on=on), cwd=self.folder)


def submission_of(file: Path, run: Path, *options: object, on: str = "local") -> list[object]:
    """The command that submits a job so."""
    python = served_python() if on == "local" else sys.executable
    path = environment()["PYTHONPATH"]
    command = f"env PYTHONPATH={shlex.quote(path)} {python} -m forkrun"
    given = ("--set", f"batch.command={json.dumps(command)}", *options)
    return ["submit", file, "--on", on, "-o", run, *given]


def status_of(run: Path) -> dict[str, Any]:
    """What `status --json` says."""
    ended = forkrun("status", run, "--json", cwd=run.parent)
    assert ended.code == 0, ended.err
    said: dict[str, Any] = json.loads(ended.out)
    return said


def problem_of(run: Path, truth: dict[str, str]) -> str:
    """ "" if the run was collected whole, with the bytes of one node and complete accounting."""
    report = json.loads((run / "report.json").read_bytes())["events"]
    if not report["digests_agree"] or report["n_events_read"] != report["n_events_planned"]:
        return f"{report['n_events_read']} of {report['n_events_planned']} events were read"
    for name in ("notFinishedLumis.json", "failedLumis.json"):
        if json.loads((run / name).read_bytes()):
            return f"{name} is not empty"
    one = (run.parent / "one" / "processedLumis.json").read_bytes()
    if (run / "processedLumis.json").read_bytes() != one:
        return "other lumis were processed than on one node"
    sums = [
        (folder / "output/accumulators.json").read_bytes() for folder in (run, run.parent / "one")
    ]
    if sums[0] != sums[1]:
        return "other accumulators than on one node"
    digests = output_digests(run)
    return "" if digests == truth else f"other bytes than on one node: {digests}"


def submit(config: Path, run: str, *options: object) -> Ended:
    """Nodes are run by hand."""
    shape = ("--on", "local", "--dry-run", "-o", run)
    return forkrun("submit", config, *shape, *options, cwd=config.parent)


def of_one_node(config: Path) -> dict[str, str]:
    """Digests of the outputs of the same job on one node, which is beside its file."""
    ended = forkrun("run", config, "-o", "one", "-q", cwd=config.parent)
    assert ended.code == 0, ended.err
    return output_digests(config.parent / "one")
