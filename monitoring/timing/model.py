"""Times of modules as plain frozen values; docs/monitoring.md describes their measurement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, convert


class ModuleTiming(Struct, frozen=True):
    """All calls of one module, or of the reading of one column. Times in s. `cpu_s` : of the thread
    in those calls, from a sample of them. `wait_inputs_s` : requested, but inputs not made yet;
    `wait_queue_s` : inputs made, but waiting for its turn. `inputs` : labels of the makers of its
    inputs."""

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
    """Begin [s] and number of calls of the bins with calls."""


class ColumnCost(Struct, frozen=True):
    """Cost of reading one column. `read_calls`, `read_bytes`: reads of files for it; `unpack_s`:
    uncompressing; `decode_s`: all else. `column` is "" for the common part of all columns: event
    ids, and records that hold several columns; `n_blocks` then counts loaded blocks."""

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
    """Costs of the input, summed over children, threads and nodes. `n_events`: number of events
    read; `not_read`: columns read because modules in Python declare them, but never used; `asked`:
    columns used, by module."""

    n_events: int = 0

    columns: tuple[ColumnCost, ...] = ()
    common: ColumnCost | None = None
    not_read: tuple[str, ...] = ()
    asked: Mapping[str, tuple[str, ...]] = {}


class SpentTime(Struct, frozen=True):
    """Time spent by threads [s]: `thread_s`, from the start of processing in their process to the
    end of its work, times its threads; the rest is waiting. Threads that read ahead are counted
    separately: `ahead_s`. `n_events`: committed by these processes."""

    reading_s: float = 0.0
    unpacking_s: float = 0.0
    processing_s: float = 0.0
    committing_s: float = 0.0
    ahead_s: float = 0.0
    thread_s: float = 0.0
    n_events: int = 0

    def shares(self) -> dict[str, float]:
        """Shares of `thread_s`, waiting last; empty without measurements."""
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
    """Number and length of waits of `module` for inputs of which `waited_for` came last."""

    module: str
    waited_for: str
    count: int
    total_s: float


class Timing(Struct, frozen=True):
    """Timing of a whole run. A killed process leaves no times: `n_events`, `cpu_s` and `wall_s` are
    sums over the others, each from the start of processing to the end of its work.
    `overhead_s_per_event` : CPU outside of modules, per event; None if calls of modules contain
    others, so that their sum is larger. `n_not_traced` : calls missing in the trace for lack of
    space."""

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
