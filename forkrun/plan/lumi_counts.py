"""Number of events of each lumi in the input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forkrun.base.lumis import LumiCounts, dataset_lumi_keys, number_keys
from forkrun.index import LumiRanges
from forkrun.plan.lumi_mask import LumiMask, within


def count_lumis(
    ranges: LumiRanges, mask: LumiMask | None, datasets: Sequence[int] = ()
) -> LumiCounts:
    """Events of each lumi of each dataset within the mask, in order of the input. `datasets` :
    (n_files,) number of that of each file; none: they are one."""
    good = within(mask, ranges)
    of_file = np.array(datasets, dtype=np.int64)
    of_range = of_file[good.file] if datasets else np.zeros_like(good.run)
    first, lumi = number_keys(dataset_lumi_keys(good.lumi_key, of_range))
    n_events = np.zeros(len(first), dtype=np.int64)
    np.add.at(n_events, lumi, good.n_events)
    return LumiCounts(good.run[first], good.lumi[first], n_events, of_range[first])
