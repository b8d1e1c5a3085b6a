"""Losses per core with more cores: a product of three ratios to one core, of which one is worst."""

from __future__ import annotations

from msgspec import Struct

from forkrun.base.quantities import percent

GOOD_SHARE = 0.9
"""Efficiency above which cores count as well used."""


class Use(Struct, frozen=True):
    """Use of cores in one way of running. `cpu_s`: per event; `busy`: CPU time divided by the time
    of all threads; `utilization`: mean divided by longest time of the children; `cached`: share of
    the input in memory."""

    n_cores: int
    cpu_s: float
    busy: float
    utilization: float
    cached: float = 1.0


def efficiency(use: Use, alone: Use) -> float:
    """Events per second and core relative to one core, including the wait for the last child."""
    computing, running, ending = _factors(use, alone)
    return computing * running * ending


def reason(use: Use, alone: Use, n_cpus: int) -> str:
    """The largest loss, in words."""
    computing, running, ending = _factors(use, alone)
    worst = min(computing, running, ending)
    if worst == computing:
        return (
            f"an event takes {1 / computing:.2f} times the CPU time: cores share memory bandwidth,"
            " caches, clock or, with hyper-threads, units"
        )
    if worst == ending:
        return (
            f"waiting for the last child: the others are done after {percent(use.utilization)} of"
            " its time (smaller units, or more events)"
        )
    if use.n_cores > n_cpus:
        return f"CPUs: there are {n_cpus} for {use.n_cores} threads"
    if use.cached < 0.98:
        return (
            f"disk: threads compute {percent(use.busy)} of the time, and"
            f" {percent(1 - use.cached)} of the input is not in memory"
        )
    return (
        f"threads wait for each other, computing {percent(use.busy)} of the time: modules that run"
        " one block at a time (Python, `one`, `unsafe`), or outputs in order"
    )


def _factors(use: Use, alone: Use) -> tuple[float, float, float]:
    """Factors for computing, having work and ending together: 1 without loss."""
    return (
        alone.cpu_s / use.cpu_s if use.cpu_s else 1.0,
        use.busy / alone.busy if alone.busy else 1.0,
        use.utilization / alone.utilization if alone.utilization else 1.0,
    )
