"""Number of events of each lumi in the input."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from forkrun.base.lumis import Integers, number_keys
from forkrun.index import LumiRanges
from forkrun.plan.lumi_mask import LumiMask, within


class LumiCounts(Struct, frozen=True, eq=False):
    """Events by lumi, as columns: a million lumis in some tens of megabytes. `run`, `lumi`,
    `n_events` : (n_lumis,)."""

    run: Integers
    lumi: Integers
    n_events: Integers

    def to_json(self) -> dict[str, list[int]]:
        """Still as columns."""
        return {name: column.tolist() for name, column in asdict(self).items()}


def count_lumis(ranges: LumiRanges, mask: LumiMask | None) -> LumiCounts:
    """Events of each lumi of the input within the mask, in order of the input."""
    good = within(mask, ranges)
    first, lumi = number_keys(good.lumi_key)
    n_events = np.zeros(len(first), dtype=np.int64)
    np.add.at(n_events, lumi, good.n_events)
    return LumiCounts(good.run[first], good.lumi[first], n_events)
