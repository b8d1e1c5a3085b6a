"""The schema of report.json that docs have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from forkrun.monitoring.report.summary import SCHEMA_VERSION, Summary
from forkrun.monitoring.report.write import write_report

from .conftest import timeline_lines

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"


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


def test_docs_have_the_schema_of_today() -> None:
    made = json.loads(json.dumps(report_schema()))
    assert json.loads(SCHEMA.read_text()) == made, (
        "write json.dumps(report_schema(), indent=1) of this test there"
    )


@pytest.mark.parametrize("is_whole", [True, False])
def test_reports_of_finished_and_begun_jobs_are_valid(
    write_run: Callable[..., Path], is_whole: bool
) -> None:
    run = write_run() if is_whole else write_run(ledger={}, timeline=timeline_lines()[:1])
    write_report(run)
    report = json.loads((run / "report.json").read_text())
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(report, schema)
    del report["events"]["n_files"]
    with pytest.raises(jsonschema.ValidationError, match="n_files"):
        jsonschema.validate(report, schema)
