"""Weight of each dataset as a column, `lumi_weight`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forkrun.modules.base import Producer
from forkrun.modules.block import EventBlock


class DatasetWeight(Producer):
    """Luminosity times cross section, divided by the sum of weights; 1 for data."""

    consumes = ()
    produces = {"lumi_weight": "float64"}

    def produce(self, block: EventBlock) -> Mapping[str, Any]:
        """(n_events,): the same for all events of a dataset."""
        assert block.dataset is not None
        return {"lumi_weight": np.full(len(block), block.dataset.weight)}
