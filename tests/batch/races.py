"""Rounds of pairs of commands that begin at about the same moment in one run directory of a job on
nodes of this machine. Whatever the two do to each other, none says something that it must not, and
the job can be brought to its end with the bytes of one node.

python tests/batch/races.py --rounds 1000
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from forkrun.batch.status import MISSING, State, read_status
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import NodeRanges
from tests.batch.failures import ON_NODES, running_groups, truth_of_nodes
from tests.batch.jobs import Job, problem_of, submission_of
from tests.batch.test_code import CodeJob
from tests.support.jobs import PATIENCE_S, Ended, forkrun, output_digests, running

_BUSY = 4
"""Exit code of a command that finds another one at work, or a job that was submitted already."""
_NOT_DONE = 5
"""Of a collection: nodes are missing."""
_NONE_THERE = 2
_CHANGED = "it was changed while the job was submitted; submit again"
_N_NODES = 3
_LUMIS = 6


@dataclass
class Race:
    """One round: `codes` of the commands that began at once, `problem`: what must not be."""

    kind: str
    run: Path
    dice: random.Random
    codes: list[str] = field(default_factory=list)
    problem: str = ""

    def at_once(self, *commands: Sequence[object], most_s: float = 0.4) -> list[Ended]:
        """Runs commands that begin within a moment of each other."""
        delays = [0.0, *(self.dice.uniform(0.0, most_s) for _ in commands[1:])]
        with ThreadPoolExecutor(len(commands)) as team:
            ended = list(team.map(self._begin, commands, delays))
        for (name, *_), end in zip(commands, ended, strict=True):
            self.codes.append(f"{name} {end.code}")
            if "internal error" in end.err or not _may_end_so(end):
                self.fail(f"{name}: exit code {end.code}: {end.err}")
        return ended

    def _begin(self, command: Sequence[object], delay_s: float) -> Ended:
        time.sleep(delay_s)
        return forkrun(*command, cwd=self.run.parent)

    def fail(self, why: str) -> None:
        """Notes the first problem."""
        self.problem = self.problem or why

    def done(self, *commands: Sequence[object]) -> None:
        """Runs commands that have to succeed."""
        for command in commands:
            ended = forkrun(*command, cwd=self.run.parent)
            if ended.code:
                self.fail(f"{command[0]}: exit code {ended.code}: {ended.err}")

    def bring_to_its_end(self, truth: dict[str, str] | None = None) -> None:
        """Resubmits what is missing until all nodes are done, then collects."""
        folder, until_s = RunDirectory(self.run), time.monotonic() + PATIENCE_S
        while not self.problem:
            status = read_status(folder, NodeRanges.read(folder))
            if status.count(State.DONE) == len(status.nodes):
                break
            if status.count(*MISSING) and not status.count(State.RUNNING, State.WAITING):
                self.done(["resubmit", self.run])
            if time.monotonic() > until_s:
                self.fail(f"it did not end: {status}")
            time.sleep(0.02)
        if truth is not None and not self.problem:
            self.collect(truth)

    def collect(self, truth: dict[str, str]) -> None:
        """Collects, and compares."""
        self.done(["collect", self.run, "-q"])
        self.compare(truth)

    def compare(self, truth: dict[str, str]) -> None:
        """With one node, bytes and accounting."""
        if not self.problem:
            self.fail(problem_of(self.run, truth))

    def killed_at_once(self, command: Sequence[object]) -> None:
        """The command, killed within a moment, and again while that one may still be at work."""
        with running(*command, "-q", cwd=self.run.parent) as process:
            time.sleep(self.dice.uniform(0.3, 2.0))
            second = forkrun(*command, "-q", cwd=self.run.parent)
            os.killpg(process.pid, signal.SIGKILL)
        self.codes += [f"{command[0]} {process.wait()}", f"{command[0]} {second.code}"]
        if second.code not in (0, _BUSY):
            self.fail(f"{command[0]}: exit code {second.code}: {second.err}")

    def kill_groups(self) -> None:
        """SIGKILL for some nodes at work, whole process groups."""
        groups = running_groups(RunDirectory(self.run))
        for group in self.dice.sample(groups, self.dice.randint(0, len(groups))):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)

    def wait_a_moment(self) -> None:
        """Nodes are somewhere in their work."""
        time.sleep(self.dice.uniform(0.0, 1.0))


def _may_end_so(ended: Ended) -> bool:
    """Whether a command may do this when another one is at work: before there is a submission it
    finds none."""
    if "is not the run directory of a submitted job" in ended.err or _CHANGED in ended.err:
        return ended.code == _NONE_THERE
    return ended.code in (0, _BUSY, _NOT_DONE)


@dataclass(frozen=True)
class Bench:
    """Jobs that rounds begin, and what they give on one node; of `on_nodes`, on three. `small` is
    `quick` before its input has grown."""

    quick: Job
    small: Job
    slow: Job
    on_nodes: dict[str, str]
    code: CodeJob
    of_code: list[dict[str, str]]

    @classmethod
    def make(cls, folder: Path) -> Bench:
        """All of them, in folders of their own."""
        for name in ("quick", "small", "slow", "code"):
            (folder / name).mkdir()
        quick = Job.make(folder / "quick", n_lumis=_LUMIS)
        small = Job.of(folder / "small", [folder / "quick/a.root"])
        slow = Job.make(folder / "slow", n_lumis=_LUMIS, time_s=0.005)
        code, of_code = CodeJob.make(folder / "code"), []
        for rest in (1, 0):
            code.write(rest)
            of_code.append(code.run(f"one-{rest}"))
        return cls(quick, small, slow, truth_of_nodes(quick, _N_NODES), code, of_code)


def _submission(job: Job, run: Path, *more: object) -> list[object]:
    at_once = ("--set", f"batch.at_once={_N_NODES}", "--set", "batch.retries=1000")
    return submission_of(job.file, run, "--nodes", _N_NODES, *at_once, *more)


def _one_begins(race: Race, first: Ended, second: Ended) -> None:
    if sorted([first.code, second.code]) != [0, _BUSY]:
        race.fail(f"exit codes {race.codes}: {first.err}{second.err}")


def _some_succeeds(race: Race, *ended: Ended) -> None:
    if all(each.code for each in ended):
        race.fail(f"exit codes {race.codes}: {''.join(each.err for each in ended)}")


def _submits(race: Race, bench: Bench) -> None:
    command = _submission(bench.quick, race.run)
    _one_begins(race, *race.at_once(command, command))
    race.bring_to_its_end(bench.quick.truth)


def _submit_and(other: str) -> Kind:
    def race_with(race: Race, bench: Bench) -> None:
        command = _submission(bench.quick, race.run)
        submit, _ = race.at_once(command, [other, race.run], most_s=2.0)
        _some_succeeds(race, submit)
        race.bring_to_its_end(bench.quick.truth)

    return race_with


def _submit_and_run(race: Race, bench: Bench) -> None:
    alone = ["run", bench.quick.file, "-o", race.run, "-q"]
    submit, run = race.at_once(_submission(bench.quick, race.run), alone)
    _one_begins(race, submit, run)
    if submit.code == 0:
        race.bring_to_its_end(bench.quick.truth)
    else:
        race.compare(bench.quick.truth)


def _extend_and(other: str) -> Kind:
    """The nodes that were there may be at work, or done."""

    def race_with(race: Race, bench: Bench) -> None:
        more = [*submission_of(bench.quick.file, race.run, "--extend")]
        race.done(_submission(bench.small, race.run))
        race.wait_a_moment()
        others = {"submit": more, "report": ["report", race.run, "--no-plots"]}
        first, second = race.at_once(more, others.get(other, [other, race.run]))
        if first.code:
            race.done(more)
        elif other == "submit":
            _some_succeeds(race, first, second)
        race.bring_to_its_end(bench.quick.truth)

    return race_with


def _at_work(first: str, second: str) -> Kind:
    """Two commands while nodes work."""

    def race_with(race: Race, bench: Bench) -> None:
        race.done(_submission(bench.slow, race.run))
        race.wait_a_moment()
        race.at_once([first, race.run], [second, race.run])
        race.bring_to_its_end(bench.slow.truth)

    return race_with


def _resubmit_and(other: str) -> Kind:
    """After nodes were killed, by whoever."""

    def race_with(race: Race, bench: Bench) -> None:
        race.done(_submission(bench.slow, race.run))
        race.wait_a_moment()
        race.kill_groups()
        race.at_once(["resubmit", race.run], [other, race.run])
        race.bring_to_its_end(bench.slow.truth)

    return race_with


def _collects(race: Race, bench: Bench) -> None:
    race.done(_submission(bench.quick, race.run))
    race.bring_to_its_end()
    _some_succeeds(race, *race.at_once(["collect", race.run], ["collect", race.run]))
    race.collect(bench.quick.truth)


def _collect_is_killed(race: Race, bench: Bench) -> None:
    """While another one waits for it, or finds what it has left."""
    race.done(_submission(bench.quick, race.run))
    race.bring_to_its_end()
    race.killed_at_once(["collect", race.run])
    race.collect(bench.quick.truth)


def _one_node_twice(race: Race, bench: Bench) -> None:
    race.done(_submission(bench.quick, race.run, "--dry-run"))
    node = ["node", race.run, 1, "-q"]
    _some_succeeds(race, *race.at_once(node, node))
    race.bring_to_its_end(bench.quick.truth)


def _on_nodes(race: Race, bench: Bench) -> None:
    """Nodes make outputs, are killed, and somebody collects meanwhile."""
    race.done(_submission(bench.quick, race.run, *ON_NODES))
    race.wait_a_moment()
    race.kill_groups()
    race.at_once(["resubmit", race.run], ["collect", race.run])
    race.kill_groups()
    race.bring_to_its_end()
    race.killed_at_once(["collect", race.run])
    race.collect(bench.on_nodes)


def _code_changes(race: Race, bench: Bench) -> None:
    """Two submit while a module is edited; then nodes take the code at once."""
    code = bench.code
    code.write(rest=1)
    command = ["submit", code.file, "-o", race.run, "--nodes", 2, "--on", "local", "--dry-run"]

    def type_later() -> None:
        time.sleep(race.dice.uniform(0, 0.5))
        code.write(rest=0)

    with ThreadPoolExecutor(1) as typing:
        typing.submit(type_later)
        ended = race.at_once(command, command)
    if all(_CHANGED in each.err for each in ended if each.code != _BUSY):
        race.done(command)
    else:
        _some_succeeds(race, *ended)
    nodes = [["node", race.run, number, "-q"] for number in (0, 1)]
    if any(ended.code for ended in race.at_once(*nodes)):
        race.fail(f"exit codes {race.codes}")
    race.done(["collect", race.run, "-q"])
    if output_digests(race.run) not in bench.of_code:
        race.fail("bytes of neither code")


Kind = Callable[[Race, Bench], None]
KINDS: dict[str, Kind] = {
    "submit, submit": _submits,
    "submit, collect": _submit_and("collect"),
    "submit, kill": _submit_and("kill"),
    "submit, status": _submit_and("status"),
    "submit, resubmit": _submit_and("resubmit"),
    "submit, run": _submit_and_run,
    "extend, extend": _extend_and("submit"),
    "extend, collect": _extend_and("collect"),
    "extend, kill": _extend_and("kill"),
    "extend, resubmit": _extend_and("resubmit"),
    "kill, status": _at_work("kill", "status"),
    "kill, kill": _at_work("kill", "kill"),
    "kill, collect": _at_work("kill", "collect"),
    "resubmit, resubmit": _resubmit_and("resubmit"),
    "resubmit, kill": _resubmit_and("kill"),
    "resubmit, collect": _resubmit_and("collect"),
    "collect, collect": _collects,
    "collect, SIGKILL": _collect_is_killed,
    "node, node": _one_node_twice,
    "on nodes": _on_nodes,
    "shipped code": _code_changes,
}


def run_round(bench: Bench, kind: str, seed: int) -> Race:
    """One of `KINDS`, with moments that the seed draws."""
    folder = bench.code.folder if kind == "shipped code" else bench.quick.folder
    if kind.startswith(("kill", "resubmit")):
        folder = bench.slow.folder
    race = Race(kind, folder / f"round-{seed}", random.Random(seed))
    try:
        KINDS[kind](race, bench)
    except AssertionError as error:  # a traceback on the terminal
        race.fail(str(error))
    if not race.problem and (left := [*race.run.glob("*.part"), *race.run.glob("lock")]):
        race.fail(f"left behind: {left}")
    return race


def main() -> int:
    """Exit code 1 if a round ended as it must not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, metavar="N")
    parser.add_argument("--first-seed", type=int, default=1, metavar="N")
    parser.add_argument("--only", choices=KINDS, help="only pairs of this kind")
    options = parser.parse_args()
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    n_bad = 0
    with tempfile.TemporaryDirectory(prefix="forkrun-races-") as folder:
        bench = Bench.make(Path(folder))
        for seed in range(options.first_seed, options.first_seed + options.rounds):
            kind = options.only or list(KINDS)[seed % len(KINDS)]
            race = run_round(bench, kind, seed)
            outcomes[kind][", ".join(race.codes)] += 1
            if race.problem:
                n_bad += 1
                print(f"seed {seed}: {kind}: {race.problem}", flush=True)
            else:
                shutil.rmtree(race.run)
            if seed % 20 == 0:
                print(f"{seed - options.first_seed + 1} rounds, {n_bad} bad", flush=True)
    for kind, of_kind in outcomes.items():
        told = "; ".join(f"{n} × {codes}" for codes, n in of_kind.most_common())
        print(f"{kind:20}{sum(of_kind.values()):6}  {told}")
    print(f"{options.rounds} rounds, {n_bad} ended as they must not")
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
