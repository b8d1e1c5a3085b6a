"""The plan that a run directory keeps."""

from __future__ import annotations

import json

from forkrun.base.regular_file import read_regular
from forkrun.errors import InputError
from forkrun.plan.model import Plan
from forkrun.rundir.directory import RunDirectory


def read_plan(folder: RunDirectory) -> Plan:
    """Raises InputError if it is missing or damaged."""
    try:
        return Plan.from_json(json.loads(read_regular(folder.plan)))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise InputError(f"{folder.plan}: cannot be read: {error}") from None
