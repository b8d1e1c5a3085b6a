"""Times of modules as plain frozen values; docs/timing.md says how each is measured."""

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


class Stall(Struct, frozen=True):
    """How often and how long `module` waited for inputs of which `waited_for` came last."""

    module: str
    waited_for: str
    count: int
    total_s: float


class Timing(Struct, frozen=True):
    """Timing of a whole run. `overhead_s_per_event` : CPU outside of modules, per event;
    `n_not_traced` : calls that are not in the trace, for lack of space."""

    n_events: int
    cpu_s: float
    wall_s: float
    overhead_s_per_event: float
    modules: tuple[ModuleTiming, ...]
    stalls: tuple[Stall, ...]
    paths: Mapping[str, tuple[str, ...]]
    n_not_traced: int

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Timing:
        """Makes the timing from the content of a `timing.json`."""
        return convert({**raw, **raw["scheduler"]}, cls)
