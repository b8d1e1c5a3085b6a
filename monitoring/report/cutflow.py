"""Events left by the filters of each path, with efficiencies and their errors."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from forkrun import _core
from forkrun.base.destinations import DatasetApart, are_mixed
from forkrun.rundir.ledger import Commit, CutCount
from forkrun.rundir.results import Counts, summed_flow


class Efficiency(Struct, frozen=True):
    """A fraction with its 68.27 % interval."""

    value: float
    low: float
    high: float


class Cut(Struct, frozen=True):
    """Events left after a filter of a path; "": at its beginning. `step`: as a fraction of the
    events before the filter, `total`: of those at the beginning of the path; None without events.
    The same for sums of weights, None if no weight is configured or the sum is not finite;
    `sum_weights2`: sum of squared weights. `n_missing`: events refused because the filter's value
    is missing (None)."""

    after: str
    n_events: int
    step: Efficiency | None
    total: Efficiency | None
    sum_weights: float | None = None
    sum_weights2: float | None = None
    weighted_step: Efficiency | None = None
    weighted_total: Efficiency | None = None
    n_missing: int = 0


class PathCutflow(Struct, frozen=True):
    """`n_units_missing`: units committed without counts, before counting was requested; `datasets`:
    cuts of each dataset, by name; empty unless there are several; `data`: names of the data
    samples. `no_sum`: reason why `cuts`, the sum of all, is empty; `sums`: of "simulation" and of
    "data", if a job with both has several whose sum is meaningful."""

    path: str
    cuts: tuple[Cut, ...]
    n_units_missing: int = 0
    datasets: dict[str, tuple[Cut, ...]] = {}
    no_sum: str = ""
    data: tuple[str, ...] = ()
    sums: dict[str, tuple[Cut, ...]] = {}


def summarize_cutflow(
    ledger: Sequence[Commit | Counts],
    datasets: Mapping[int, DatasetApart] | None = None,
    *,
    are_normalised: bool = False,
) -> tuple[PathCutflow, ...]:
    """Sums over all commits, if meaningful, and over those of each dataset, if there are several. A
    path whose filters differ between commits is left out. `datasets`: by number; `are_normalised`:
    whether the cutflow's weights are normalised by cross sections."""
    own = datasets or {}
    no_sum = _no_sum(own.values(), are_normalised)
    kinds = {
        "simulation": [n for n, each in own.items() if not each.is_data and are_normalised],
        "data": [n for n, each in own.items() if each.is_data],
    }
    several = {kind: numbers for kind, numbers in kinds.items() if len(numbers) > 1}
    of_kinds = _sums_of(ledger, several if are_mixed(own.values()) else {})
    of_datasets = _sums_of(ledger, {each.name: [n] for n, each in own.items()})
    return tuple(
        replace(
            flow,
            cuts=() if no_sum else flow.cuts,
            datasets=of_datasets.get(flow.path, {}),
            no_sum=no_sum,
            data=tuple(own[n].name for n in kinds["data"]),
            sums=of_kinds.get(flow.path, {}),
        )
        for flow in _sum_over(ledger)
    )


def _no_sum(datasets: Collection[DatasetApart], are_normalised: bool) -> str:
    """Reason for not adding cutflows of datasets; "" if they are added, or there are not several.
    Sums over simulated samples are meaningless until weighted by cross sections."""
    if are_mixed(datasets):
        return "data and simulation are not added"
    if are_normalised or all(each.is_data for each in datasets):
        return ""
    return (
        "simulated datasets are not added: monitoring.cutflow_weight names no weight that is made"
        " of lumi_weight"
    )


def _sums_of(
    ledger: Sequence[Commit | Counts], groups: Mapping[str, Sequence[int]]
) -> dict[str, dict[str, tuple[Cut, ...]]]:
    """Sums by path and name of a group, over its datasets, given by number."""
    found: dict[str, dict[str, tuple[Cut, ...]]] = {}
    for name, numbers in groups.items():
        for flow in _sum_over([commit for commit in ledger if commit.dataset in numbers]):
            found.setdefault(flow.path, {})[name] = flow.cuts
    return found


def _sum_over(ledger: Sequence[Commit | Counts]) -> tuple[PathCutflow, ...]:
    counted = [commit for commit in ledger if commit.cutflow]
    n_missing = sum(commit.n_units for commit in ledger if not commit.cutflow)
    names = dict.fromkeys(path for commit in counted for path in commit.cutflow or {})
    flows = []
    for path in names:
        has = [each for each in counted if path in (each.cutflow or {})]
        makes = not all(map(_is_kept, has))  # this run makes it, for its own events
        of = has + [each for each in counted if makes and each not in has and not _is_kept(each)]
        total = summed_flow([(each.cutflow or {}).get(path, []) for each in of])
        if total is not None:
            flows.append(PathCutflow(path, _cuts(map(_Sum.of, total)), n_missing))
    return tuple(flows)


def _is_kept(counts: Commit | Counts) -> bool:
    return isinstance(counts, Counts) and counts.is_kept


class _Sum(Struct, frozen=True):
    after: str
    n: int
    w: float | None
    w2: float | None
    n_missing: int

    @classmethod
    def of(cls, total: CutCount) -> _Sum:
        """`w`, `w2`: sums of weights and of their squares; None: no weights, or not finite."""
        w = w2 = None
        if total.weights is not None:
            words = np.array(total.weights, dtype=np.uint64)
            (w,), (w2,) = _core.ExactSums.unpacked(words, 2, 1).rounded().tolist()
        if w2 is None or not math.isfinite(w2):
            w = w2 = None
        return cls(total.after, total.n_events, w, w2, total.n_missing)


def _cuts(sums: Iterable[_Sum]) -> tuple[Cut, ...]:
    cuts: list[Cut] = []
    first = before = None
    for each in sums:
        first, before = first or each, before or each
        cuts.append(
            Cut(
                each.after, each.n, wilson(each.n, before.n), wilson(each.n, first.n), each.w,
                each.w2, _weighted(each, before), _weighted(each, first), each.n_missing,
            )
        )  # fmt: skip
        before = each
    return tuple(cuts)


def wilson(n_passed: int, n_all: int) -> Efficiency | None:
    """The fraction with Wilson's interval for one standard deviation, which always stays within 0
    and 1; None without events."""
    if not n_all:
        return None
    fraction = n_passed / n_all
    centre = (fraction + 1 / (2 * n_all)) / (1 + 1 / n_all)
    half = math.sqrt(fraction * (1 - fraction) / n_all + 1 / (4 * n_all**2)) / (1 + 1 / n_all)
    low = 0.0 if n_passed == 0 else centre - half
    high = 1.0 if n_passed == n_all else centre + half
    return Efficiency(fraction, low, high)


def _weighted(passed: _Sum, all_: _Sum) -> Efficiency | None:
    """The fraction of the sum of weights, and one standard deviation: passed and failed events are
    independent sums of weights."""
    if passed.w is None or not all_.w or passed.w2 is None or all_.w2 is None:
        return None
    fraction = passed.w / all_.w
    failed_w2 = max(all_.w2 - passed.w2, 0.0)
    variance = ((1 - fraction) ** 2 * passed.w2 + fraction**2 * failed_w2) / all_.w**2
    error = math.sqrt(variance)
    return Efficiency(fraction, fraction - error, fraction + error)
