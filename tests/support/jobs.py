"""Jobs for tests, and what they leave."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forkrun.fork.command import CleanCommand
from tests.server.command_server import Call, CommandServer
from tests.server.forked_worker import KeptWorker

PATIENCE_S = 300.0
"""Until a fact that is waited for counts as missing: a machine under load is slow, not wrong."""

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@dataclass
class Serving:
    """Whether also processes of Python are served that commands start; see `own_process`."""

    is_deep: bool = True


serving = Serving()
_SERVED_DEEPLY = ("run", "check", "plan", "submit", "resubmit", "collect")
"""Studies are not: they look at processes that they start."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def forkrun(*arguments: object, cwd: Path, **kwargs: Any) -> Ended:
    """Runs the command as a user does; in a process that is started for it where `kwargs` ask for
    more than variables that it reads itself. Drawing plots takes most of the time of a small
    job."""
    no_plots = ["--no-plots"] if arguments[0] in ("run", "resume") else []
    given = [*arguments, *no_plots]
    if _can_be_served(**kwargs):
        ended = _served(given, cwd, kwargs.get("env", environment()))
    else:
        ended = _started(given, cwd, kwargs)
    # Without children the terminal gets, from Python 3.12 on, the traceback of the module.
    own = "Traceback" in ended.err and " failed at " not in ended.err
    assert not own, ended.err
    return ended


def _can_be_served(env: Mapping[str, str] | None = None, **others: Any) -> bool:
    """Whether it needs no Python that starts anew: for libraries of its own, say."""
    changed = set((env or {}).items()) - set(environment().items())
    special = {name for name, _ in changed if name.startswith(("PYTHON", "LD_"))}
    return not others and special <= {"PYTHONPATH"}


def _started(arguments: Sequence[object], cwd: Path, kwargs: dict[str, Any]) -> Ended:
    with running(*arguments, cwd=cwd, **kwargs) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    return Ended(process.returncode, out, err)


def program(*words: object, cwd: Path) -> Ended:
    """Runs a program in Python as a user does, served, as are all commands that it starts."""
    return _served_words(map(str, words), cwd, environment())


def forkrun_after(before: Call, *arguments: object, cwd: Path) -> Ended:
    """The command in a process that calls something first."""
    return _served(arguments, cwd, environment(), before=before)


def forkrun_to(out: int, err: int, *arguments: object, cwd: Path) -> int:
    """Exit code of the command, whose output goes to these descriptors."""
    return _answer(_words_of(arguments), cwd, environment(), out, err)


def _served(arguments: Sequence[object], cwd: Path, env: dict[str, str], **how: Any) -> Ended:
    return _served_words(_words_of(arguments), cwd, env, **how)


def _words_of(arguments: Sequence[object]) -> list[str]:
    return ["-m", "forkrun", *map(str, arguments)]


def _served_words(words: Iterable[str], cwd: Path, env: dict[str, str], **how: Any) -> Ended:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _answer(words, cwd, env, out.fileno(), err.fileno(), **how)
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read().decode(), err.read().decode())


def _answer(
    words: Iterable[str], cwd: Path, env: dict[str, str], out: int, err: int, **how: Any
) -> int:
    with open(os.devnull) as nothing:
        streams = {0: nothing.fileno(), 1: out, 2: err}
        return _run_words(list(words), cwd, env, streams, **how)


def _run_words(
    words: list[str], cwd: Path, env: Mapping[str, str], streams: Mapping[int, int], **how: Any
) -> int:
    is_program = words[0] != "-m"
    is_deep = serving.is_deep and (is_program or words[2] in _SERVED_DEEPLY)
    given = {"is_served_too": is_deep, **how}
    return _server().run(words, cwd, dict(env), streams, PATIENCE_S, **given)


def run_served(clean: CleanCommand, descriptors: Sequence[int]) -> int:
    """Does what `job.run()` and its like do in a process that is started for it."""
    with open(os.devnull) as nothing:
        streams = {0: nothing.fileno(), 1: 1, 2: 2, **{number: number for number in descriptors}}
        words = [word for word in clean.words[1:] if word != "-P"]
        return _run_words(words, Path.cwd(), clean.environment, streams)


def start_served_worker(module: str, errors: int) -> KeptWorker:
    """A worker that reads files for this process."""
    return _server().start_worker(module, errors, environment())


def served_python() -> str:
    """A program that does what Python does with a module or a file of it, served; Python itself in
    tests of processes of their own."""
    return _server().python if serving.is_deep else sys.executable


@functools.cache
def _server() -> CommandServer:
    return CommandServer(environment())


@contextmanager
def running(
    *arguments: object, cwd: Path, env: dict[str, str] | None = None, **kwargs: Any
) -> Iterator[subprocess.Popen[str]]:
    """The command, while it runs. Whatever becomes of the test, on the way out the command is
    killed with all that it has started."""
    module = "tests.server.fault_injection" if "FORKRUN_CHAOS" in (env or {}) else "forkrun"
    command = [sys.executable, "-m", module, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=cwd, env=env or environment(), stdout=pipe, stderr=pipe, text=True,
        start_new_session=True, **kwargs,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # nobody is left
                os.killpg(process.pid, signal.SIGKILL)


def wait_for(fact: Callable[[], bool]) -> None:
    """Looks as often as it can without taking a CPU from what is waited for: a look may be a
    command."""
    deadline_s = time.monotonic() + PATIENCE_S
    begin_s = time.monotonic()
    while not fact():
        now_s = time.monotonic()
        assert now_s < deadline_s
        time.sleep(min(max(0.01, 4 * (now_s - begin_s)), 0.5))
        begin_s = time.monotonic()


def left_behind(mark: str) -> list[int]:
    """Processes with NAME=VALUE in their environment that live on; what has just been killed may
    need a moment."""
    deadline_s = time.monotonic() + PATIENCE_S
    while (left := list(_marked(mark))) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return left


def _marked(mark: str) -> Iterator[int]:
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with suppress(OSError):
                if mark.encode() in (process / "environ").read_bytes().split(b"\0"):
                    yield int(process.name)


def environment(**more: str) -> dict[str, str]:
    """Environment of a process that imports this forkrun."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **more}


def module(label: str, name: str, **params: Any) -> dict[str, Any]:
    return {"label": label, "type": f"python:{HERE / 'selection.py'}:{name}", "params": params}


def jets_job(files: Sequence[Path], **sections: Any) -> dict[str, Any]:
    """Keeps events with two hard jets, with all branches and two new columns. It has one child
    unless a test says how many: each takes a third of the time of a small job. Its units have ten
    events, as many tests count."""
    job: dict[str, Any] = {
        "source": {"files": [str(f) for f in files]},
        "forking": {"children": 1, "min_unit_events": 10},
        "modules": [
            module("jets", "ManyJets"),
            module("sums", "JetSums"),
            module("plots", "Plots"),
        ],
        "paths": {"skim": ["jets", "plots"]},
        "outputs": [{"label": "events", "paths": ["skim"]}],
    }
    for section, value in sections.items():
        both = isinstance(value, dict) and isinstance(job.get(section), dict)
        job[section] = {**job[section], **value} if both else value
    return job


def lumi_by_lumi(job: dict[str, Any]) -> dict[str, Any]:
    """The same job, of which each commit has one lumi or a part of one."""
    path, labels = next(iter(job["paths"].items()))
    return {
        **job,
        "modules": [*job["modules"], module("by_lumi", "LumiByLumi")],
        "paths": {**job["paths"], path: ["by_lumi", *labels]},
    }


def write_job(folder: Path, job: dict[str, Any]) -> Path:
    file = folder / "job.json"
    file.write_text(json.dumps(job))
    return file


def ledger_units(run: Path) -> list[int]:
    """Numbers of the committed units. What has no end of a line is still being written."""
    texts = [file.read_text().rpartition("\n")[0] for file in (run / "ledger").glob("*.jsonl")]
    commits = [json.loads(line) for text in texts for line in text.splitlines()]
    return sorted(c["unit"] + n for c in commits for n in range(c.get("n_units", 1)))


def output_digests(run: Path) -> dict[str, str]:
    """SHA-256 of the merged files, by name; those of lumis and datasets in their folders."""
    output = run / "output"
    return {str(file.relative_to(output)): sha256(file) for file in sorted(output.rglob("*.root"))}


def sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
