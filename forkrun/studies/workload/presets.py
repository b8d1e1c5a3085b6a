"""Statistics of reconstruction jobs as they were measured: high pile-up and minimum bias."""

from pathlib import Path

from msgspec import json

from forkrun.studies.workload.statistics import Statistics

PRESETS = json.decode(
    Path(__file__).with_name("presets.json").read_bytes(), type=dict[str, Statistics]
)
