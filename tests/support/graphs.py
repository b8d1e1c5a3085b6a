"""Graphs for estimates: written by hand, and drawn at random."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from forkrun.studies.estimate.graph import EstimateGraph


def graph(
    times_s: list[list[float]],
    inputs: dict[int, tuple[int, ...]],
    first: tuple[int, ...],
    then: dict[int, tuple[int, ...]] | None = None,
    last: tuple[int, ...] = (),
    kinds: dict[int, str] | None = None,
) -> EstimateGraph:
    n_modules = len(times_s)
    return EstimateGraph(
        name="test",
        labels=tuple(f"m{i}" for i in range(n_modules)),
        concurrency=tuple((kinds or {}).get(i, "reentrant") for i in range(n_modules)),
        inputs=tuple(inputs.get(i, ()) for i in range(n_modules)),
        first=first,
        then=then or {},
        last=last,
        times_s=np.array(times_s),
    )


@st.composite
def graphs(draw: st.DrawFn) -> EstimateGraph:
    n_modules = draw(st.integers(2, 12))
    n_events = draw(st.integers(1, 3))
    time = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.25])
    times = draw(st.lists(st.lists(time, min_size=n_events, max_size=n_events),
                          min_size=n_modules, max_size=n_modules))  # fmt: skip
    inputs = {
        i: tuple(draw(st.sets(st.integers(0, i - 1), max_size=3))) for i in range(1, n_modules)
    }
    first = tuple(draw(st.sets(st.integers(0, n_modules - 1), min_size=1, max_size=3)))
    after = draw(st.integers(0, n_modules - 1))
    last = (n_modules - 1,) if draw(st.booleans()) else ()
    kinds = {i: draw(st.sampled_from(["reentrant", "one", "unsafe"])) for i in range(n_modules)}
    return graph(times, inputs, first, {first[0]: (after,)}, last, kinds)
