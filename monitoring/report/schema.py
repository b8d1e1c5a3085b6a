"""Schema of `report.json`, for programs that read it."""

from __future__ import annotations

from typing import Any

import msgspec

from forkrun.monitoring.report.summary import SCHEMA_VERSION, Summary


def report_schema() -> dict[str, Any]:
    """JSON Schema (2020-12), made from the types of the report."""
    schema = msgspec.json.schema(Summary)
    summary = schema["$defs"].pop("Summary")
    summary["properties"] = {
        "schema_version": {"const": SCHEMA_VERSION},
        **summary["properties"],
    }
    summary["required"] = ["schema_version", *summary["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **summary,
        "title": "report.json of forkrun",
        "$defs": schema["$defs"],
    }
