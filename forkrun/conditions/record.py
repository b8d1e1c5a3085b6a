"""Record of the conditions of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from forkrun.base.quantities import size
from forkrun.conditions.loading import describe_arrays
from forkrun.conditions.snapshots import Conditions
from forkrun.conditions.sources import ConditionSource


def conditions_to_json(conditions: Conditions) -> dict[str, Any]:
    """Content of conditions.json: the IOVs of the plan, and the payloads that hold in them."""
    table = conditions.table
    n_units = np.bincount(table.of_unit[table.of_unit >= 0], minlength=len(table.intervals))
    iovs = [
        {
            "first_lumi": lumi,
            "n_units": int(n),
            "payloads": {
                label: conditions.payload_number(label, iov) for label in conditions.labels
            },
        }
        for iov, (lumi, n) in enumerate(zip(table.first_lumis, n_units, strict=True))
    ]
    described = [_condition(source, conditions) for source in conditions.sources.values()]
    return {"iovs": iovs, "conditions": described}


def _condition(source: ConditionSource, conditions: Conditions) -> dict[str, Any]:
    payloads = [_payload(source, n, conditions) for n in range(len(source.payloads))]
    return {"label": source.label, "type": source.config.type, "payloads": payloads}


def _payload(source: ConditionSource, number: int, conditions: Conditions) -> dict[str, Any]:
    origin = source.payloads[number]
    loaded = conditions.prefetched.get((source.label, number))
    described: dict[str, Any] = {
        "file": origin.file,
        "iov": str(origin.iov),
        "is_prefetched": loaded is not None,
    }
    if loaded:
        described |= {
            "n_bytes": loaded.n_bytes,
            "load_s": round(loaded.load_s, 6),
            "arrays": describe_arrays(loaded.arrays),
        }
    return described


def summary(conditions: Conditions) -> str:
    """`2 conditions, 3 IOVs; 4 payloads prefetched (1.2 MB)`."""
    payloads = conditions.prefetched.values()
    return (
        f"{len(conditions.labels)} conditions, {len(conditions.table.intervals)} IOVs;"
        f" {len(payloads)} payloads prefetched ({size(sum(p.n_bytes for p in payloads))})"
    )
