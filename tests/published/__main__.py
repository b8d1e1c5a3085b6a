"""`make published`: runs the commands, keeps their results, draws plots, writes the page.

python -m tests.published [--only STEP …] [--page]"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from forkrun.monitoring.host import describe_host
from tests.published.page import write_page
from tests.published.steps import run_steps

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.json"
PAGE = ROOT / "docs/published.md"


def main() -> None:
    """Measures what is asked for; the rest of the page is as it was measured before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="names of steps")
    parser.add_argument("--page", action="store_true", help="write the page alone")
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data", help="replay files")
    options = parser.parse_args()
    found = json.loads(RESULTS.read_bytes()) if RESULTS.exists() else {}
    if not options.page:
        host = describe_host()
        found["host"] = {key: host[key] for key in ("cpu", "n_cpus", "kernel", "versions")}
        with tempfile.TemporaryDirectory(prefix="forkrun-published-") as work:
            steps = run_steps(Path(work), options.data, ROOT / "docs/images", options.only)
            for name, result in steps:
                found[name] = result
                RESULTS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(write_page(found))


if __name__ == "__main__":
    main()
