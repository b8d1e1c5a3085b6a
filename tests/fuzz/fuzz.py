"""`make fuzz`: damaged input files, and what becomes of each. What may die of a file in a job does
so in a helper process; here every step is made in a process of its own, without that shelter."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from forkrun.fork.single_thread import limit_library_threads

limit_library_threads()

from forkrun import _core  # noqa: E402
from forkrun.formats.lcio import LCIO  # noqa: E402
from tests.fuzz.mutations import Original, mutate  # noqa: E402
from tests.fuzz.originals import KINDS, files_of, tree_of  # noqa: E402
from tests.fuzz.trial import (  # noqa: E402
    SANITIZED,
    STEPS,
    STEPS_BESIDE,
    Outcome,
    Source,
    digests_of,
    digests_of_lcio,
    try_files,
)

SHELTERED = ("index", "outputs", "merge", "join", *STEPS_BESIDE)
"""Steps that a job or command makes in a helper process: if ROOT dies there, the file is named."""
LIMITED = ("index", "merge", "join", *STEPS_BESIDE)
"""Those of them whose CPU time is limited."""
_MOST_BYTES = 4 << 30  # what a helper process may have
_UNNOTICED = ("envelope", "swap")
"""Damage that no checksum of a page can show: of what the file says of itself, with a checksum that
is right, and pages of one column that lie in place of each other, each with its own."""
_AT_ONCE = 100
"""Files that one process is given."""


@dataclass(frozen=True)
class Trial:
    """What was done to which file, and what became of it."""

    file: str
    seed: int
    kind: str
    outcome: Outcome

    @property
    def faults(self) -> list[str]:
        """What must not happen."""
        steps = self.outcome.steps.items()
        found = [f"{step}: {how}" for step, how in steps if is_fault(step, how)]
        has_checksums = self.file.startswith("rntuple-") and self.kind not in _UNNOTICED
        if has_checksums and self.outcome.steps.get("read") == "differs":
            found.append("read: differs, though its pages have checksums")
        if self.outcome.peak_bytes > _MOST_BYTES and not SANITIZED:
            found.append(f"memory: {self.outcome.peak_bytes >> 20} MB")
        return found


def is_fault(step: str, how: str) -> bool:
    """Whether a step must not end like this."""
    if how == "hang":
        return step not in LIMITED
    if how.startswith("signal"):
        return step not in SHELTERED
    return how in ("untyped", "unnamed")


def prepare(files: Sequence[Path]) -> list[tuple[Original, Source]]:
    """What the files hold. Loads what ROOT needs: every trial is forked from here."""
    _core.warm_up()
    prepared = []
    for file in files:
        if file.suffix == LCIO.suffix:
            source = Source(file, ("", "", ""), digests_of_lcio(file))
            prepared.append((Original.of(file.name, file.read_bytes()), source))
            continue
        tree = tree_of(file)
        ids = ("run", "luminosityBlock", "event") if tree == "Events" else ("", "", "")
        index = _core.index_tree(str(file), tree, *ids)
        source = Source(file, ids, digests_of(file, index, tree), tree)
        prepared.append((Original.of(file.name, file.read_bytes()), source))
    return prepared


def run_trials(
    prepared: Sequence[tuple[Original, Source]], seeds: range, folder: Path, limit_s: float
) -> Iterator[Trial]:
    """One file after another gets the damage of the next seed. Those are kept where something was
    wrong."""
    for begin in range(0, len(seeds), _AT_ONCE):
        some = seeds[begin : begin + _AT_ONCE]
        made = [partial(_damage, prepared[seed % len(prepared)][0], seed, folder) for seed in some]
        sources = [prepared[seed % len(prepared)][1] for seed in some]
        outcomes = try_files(list(zip(sources, made, strict=True)), limit_s)
        for seed, outcome in zip(some, outcomes, strict=True):
            original, _ = prepared[seed % len(prepared)]
            trial = Trial(original.name, seed, mutate(original, seed)[0], outcome)
            dead = any(h.startswith("signal") or h == "hang" for h in outcome.steps.values())
            if not trial.faults and not dead:
                _place(original, seed, folder).unlink()
            yield trial


def _place(original: Original, seed: int, folder: Path) -> Path:
    name = Path(original.name)
    return folder / f"{name.stem}-{seed}{name.suffix}"


def _damage(original: Original, seed: int, folder: Path) -> Path:
    place = _place(original, seed, folder)
    place.write_bytes(mutate(original, seed)[1])
    return place


# --- the command ----------------------------------------------------------------------------------


def main() -> int:
    """Exit code 1 if something happened that must not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=1000, metavar="N")
    parser.add_argument("--of", choices=KINDS, action="append", help="kinds of files: all")
    parser.add_argument("--first-seed", type=int, default=1, metavar="N")
    parser.add_argument("--at-once", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="of CPU time")
    parser.add_argument("--folder", type=Path, help="keep damaged files that caused faults here")
    parser.add_argument("--report", type=Path, default=Path("build/fuzz.json"))
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="forkrun-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    trials = _in_parallel(options, folder)
    options.report.parent.mkdir(parents=True, exist_ok=True)
    options.report.write_text(json.dumps([_record(trial) for trial in trials], indent=1))
    print(report(trials))
    faulty = [trial for trial in trials if trial.faults]
    for trial in faulty[:20]:
        print(f"{trial.file} seed {trial.seed} ({trial.kind}): {'; '.join(trial.faults)}")
    print(f"{len(faulty)} of {len(trials)} files did what they must not; files are in {folder}")
    return 1 if faulty else 0


def _record(trial: Trial) -> dict[str, Any]:
    return {**asdict(trial), "faults": trial.faults}


def _in_parallel(options: argparse.Namespace, folder: Path) -> list[Trial]:
    kinds = options.of or KINDS
    prepared = prepare([file for kind in kinds for file in files_of(kind, folder)])
    context = multiprocessing.get_context("fork")
    workers = []
    for number in range(options.at_once):
        first, last = options.first_seed, options.first_seed + options.rounds
        seeds = range(first + number, last, options.at_once)
        place = folder / f"trials-{first}-{number}.jsonl"
        arguments = (prepared, seeds, folder, options.limit, place)
        workers.append((context.Process(target=_work, args=arguments), place))
    for worker, _ in workers:
        worker.start()
    for worker, _ in workers:
        worker.join()
    return sorted((t for _, place in workers for t in read_trials(place)), key=lambda t: t.seed)


def _work(
    prepared: Sequence[tuple[Original, Source]],
    seeds: range,
    folder: Path,
    limit_s: float,
    place: Path,
) -> None:
    with place.open("w", encoding="utf-8", buffering=1) as out:
        for number, trial in enumerate(run_trials(prepared, seeds, folder, limit_s), 1):
            out.write(json.dumps(_record(trial)) + "\n")
            if number % 100 == 0:
                print(f"{number}/{len(seeds)}", flush=True)


def read_trials(place: Path) -> list[Trial]:
    """What a worker has written so far."""
    trials = []
    for line in place.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        del record["faults"]
        trials.append(Trial(**{**record, "outcome": Outcome(**record["outcome"])}))
    return trials


def report(trials: Sequence[Trial]) -> str:
    """Counts of outcomes by step, and where damage was not noticed."""
    lines = [f"{len(trials)} damaged files"]
    for step in STEPS:
        counts = Counter(t.outcome.steps[step] for t in trials if step in t.outcome.steps)
        lines.append(f"{step:11s} " + ", ".join(f"{n} {how}" for how, n in counts.most_common()))
    peak = max((trial.outcome.peak_bytes for trial in trials), default=0)
    slowest = max((trial.outcome.wall_s for trial in trials), default=0)
    lines.append(f"memory at most {peak >> 20} MB, {slowest:.1f} s at most for one file")
    lines.append("damage that nothing noticed, files by kind of damage:")
    for step in ("read", "merge", "join"):
        for how in ("differs", "unreadable"):
            kinds = Counter(t.kind for t in trials if t.outcome.steps.get(step) == how)
            if kinds:
                lines.append(f"  {step}, {how}: {dict(kinds.most_common())}")
            files = Counter(t.file for t in trials if t.outcome.steps.get(step) == how)
            if files:
                lines.append(f"  {step}, {how}: {dict(files.most_common())}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
