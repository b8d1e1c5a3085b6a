"""What commands print as JSON. Apart from options: most commands that do load no configuration."""

from __future__ import annotations

import json
from typing import Any


def add_json(parser: Any) -> None:
    """Adds --json, of commands that print results."""
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def print_json(value: Any) -> None:
    """Prints results as --json has them; paths as texts."""
    print(json.dumps(value, indent=1, default=str))
