"""Times of modules as plain frozen values; docs/monitoring.md says how each is measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, convert


class ModuleTiming(Struct, frozen=True):
    """All calls of one module, or of the reading of one column. Times in s. `cpu_s` : of the thread
    in those calls, from a sample of them. `wait_inputs_s` : asked for, but inputs not made yet;
    `wait_queue_s` : inputs made, but not its turn. `inputs` : labels of what made its inputs."""

    label: str
    kind: str
    concurrency: str
    inputs: tuple[str, ...]
    count: int
    total_s: float
    mean_s: float
    p50_s: float
    p95_s: float
    max_s: float
    cpu_s: float
    wait_inputs_s: float
    wait_queue_s: float
    bins: tuple[tuple[float, int], ...] = ()
    """Begin [s] and number of calls, of those that are not empty."""


class ColumnCost(Struct, frozen=True):
    """What reading one column took. `read_calls`, `read_bytes`: that it asked of files; `unpack_s`:
    of uncompressing; `decode_s`: of all else. `column` is "" of what columns have in common: event
    ids, and records that hold several columns; `n_blocks` are then those that were loaded."""

    column: str
    n_blocks: int
    read_calls: int
    read_bytes: int
    read_s: float
    packed_bytes: int
    unpacked_bytes: int
    unpack_s: float
    decode_s: float
    total_s: float


class InputCosts(Struct, frozen=True):
    """Costs of the input, summed over children, threads and nodes. `n_events`: those that it was
    read for; `not_read`: columns that modules in Python say they read, so that they were read, and
    never asked for; `asked`: by module."""

    n_events: int = 0

    columns: tuple[ColumnCost, ...] = ()
    common: ColumnCost | None = None
    not_read: tuple[str, ...] = ()
    asked: Mapping[str, tuple[str, ...]] = {}


class SpentTime(Struct, frozen=True):
    """How threads spent their time [s]: `thread_s`, from when their process began to process to
    the end of its work, times its threads; of what is left they waited. Threads that read ahead are
    counted apart: `ahead_s`. `n_events`: that these processes have committed."""

    reading_s: float = 0.0
    unpacking_s: float = 0.0
    processing_s: float = 0.0
    committing_s: float = 0.0
    ahead_s: float = 0.0
    thread_s: float = 0.0
    n_events: int = 0

    def shares(self) -> dict[str, float]:
        """Shares of `thread_s`, those of waiting last; empty where nothing was measured."""
        if not self.thread_s:
            return {}
        shares = {
            "reading": self.reading_s / self.thread_s,
            "unpacking": self.unpacking_s / self.thread_s,
            "processing": self.processing_s / self.thread_s,
            "committing": self.committing_s / self.thread_s,
        }
        return {**shares, "waiting": max(1.0 - sum(shares.values()), 0.0)}


class Stall(Struct, frozen=True):
    """How often and how long `module` waited for inputs of which `waited_for` came last."""

    module: str
    waited_for: str
    count: int
    total_s: float


class Timing(Struct, frozen=True):
    """Timing of a whole run. A process that was killed leaves no times: `n_events`, `cpu_s` and
    `wall_s` are of the processes that did, all from when they began to process to the end of their
    work. `overhead_s_per_event` : CPU outside of modules, per event; None where calls of modules
    contain others, so that they add up to more. `n_not_traced` : calls that are not in the trace,
    for lack of space."""

    n_events: int
    cpu_s: float
    wall_s: float
    overhead_s_per_event: float | None
    modules: tuple[ModuleTiming, ...]
    stalls: tuple[Stall, ...]
    paths: Mapping[str, tuple[str, ...]]
    n_not_traced: int
    input: InputCosts = InputCosts()
    spent: SpentTime = SpentTime()

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Timing:
        """Makes the timing from the content of a `timing.json`."""
        return convert({**raw, **raw["scheduler"]}, cls)
