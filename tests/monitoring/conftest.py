"""A run directory made by hand, with numbers that can be added up on paper."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

T0 = 1_000_000.0
MIB = 1 << 20


def unit_line(
    unit: int, child: int, start_s: float, end_s: float, **changes: Any
) -> dict[str, Any]:
    """A ledger's line; times count from the job's start. 100 events read, 10 written."""
    line = {
        "unit": unit, "child": child, "pid": 100 + child, "run": 1 + unit // 4, "lumi": unit + 1,
        "n_events": 100, "digest": f"{unit + 1:032x}", "skipped": [], "skipped_digest": "0" * 32,
        "outputs": {"events": {"file": f"units/{unit:06d}/events.root", "n_events": 10,
                               "digest": f"{16 * (unit + 1):032x}", "n_bytes": 1000,
                               "checksum": 0}},
        "histograms": None, "start_s": T0 + start_s, "end_s": T0 + end_s,
        "wall_s": end_s - start_s, "cpu_s": (end_s - start_s) / 2,
        "read_calls": 5, "read_bytes": 10_000,
    }  # fmt: skip
    return {**line, **changes}


def sample_line(
    time_s: float, child: int | None, private: int, shared: int, n: int, complete: bool = True
) -> dict[str, Any]:
    """A sample: memory in MiB, the shared part of it mapped by n processes."""
    return {
        "time_s": T0 + time_s, "role": "parent" if child is None else "child", "child": child,
        "pid": 99 if child is None else 100 + child, "pss_bytes": (private + shared // n) * MIB,
        "uss_bytes": private * MIB, "rss_bytes": (private + shared) * MIB,
        "shared_bytes": shared * MIB, "private_bytes": private * MIB, "cpu_user_s": 1.0,
        "cpu_system_s": 0.5, "read_calls": 1, "read_bytes": 2, "n_events_done": 0,
        "complete": int(time_s) if complete else None, "n_sampled": n,
    }  # fmt: skip


def write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def timeline_lines() -> list[dict[str, Any]]:
    """Timeline of a job of 20 s: start-up 2 s, merge from 16 to 19 s."""
    merged = {"events": {"n_events": 60, "digest": f"{16 * 21:032x}", "n_bytes": 5000}}
    return [
        {"time_s": T0, "event": "job_start", "child": None, "pid": 99},
        {"time_s": T0 + 0.5, "event": "index_done", "child": None, "pid": 99},
        {"time_s": T0 + 1.5, "event": "modules_built", "child": None, "pid": 99},
        *({"time_s": T0 + 1.7, "event": "fork", "child": k, "pid": 100 + k} for k in range(3)),
        *(
            {"time_s": T0 + 15.5, "event": "child_exit", "child": k, "pid": 100 + k,
             "exit_code": 0, "status": "exit code 0"}
            for k in range(3)
        ),
        {"time_s": T0 + 16, "event": "merge_start", "child": None, "pid": 99},
        {"time_s": T0 + 19, "event": "merge_end", "child": None, "pid": 99, "outputs": merged},
        {"time_s": T0 + 20, "event": "job_end", "child": None, "pid": 99, "outcome": "ok"},
    ]  # fmt: skip


def ledgers() -> dict[int, list[dict[str, Any]]]:
    """Processing times 12, 9 and 6 s; ends at 15, 11 and 8 s."""
    return {
        0: [unit_line(0, 0, 2, 8), unit_line(3, 0, 9, 15)],
        1: [unit_line(1, 1, 2, 7), unit_line(4, 1, 7, 11)],
        2: [unit_line(2, 2, 2, 5), unit_line(5, 2, 5, 8)],
    }


def sample_lines() -> list[dict[str, Any]]:
    """Looks at 1 s (the parent alone), 5 s, 10 s (the peak) and 17 s; one child alone at 2 s."""
    return [
        sample_line(1, None, 40, 60, 1),
        sample_line(2, 0, 1, 90, 3, complete=False),
        *(sample_line(5, child, 10, 80, 4) for child in (None, 0, 1, 2)),
        *(sample_line(10, child, 20, 80, 4) for child in (None, 0, 1, 2)),
        sample_line(17, None, 40, 60, 1),
    ]


def plan() -> dict[str, Any]:
    units = {
        "child": [0, 1, 2, 0, 1, 2], "run": [1, 1, 1, 1, 2, 2], "lumi": [1, 2, 3, 4, 5, 6],
        "first_range": list(range(7)), "file": [0] * 6,
        "first": list(range(0, 600, 100)), "last": list(range(100, 700, 100)),
    }  # fmt: skip
    return {
        "distribution": "lumi", "children": 3, "n_events": 600, "n_lumis": 6,
        "n_units": 6,
        "files": ["a.root"], "digest": f"{21:032x}", "units": units,
    }  # fmt: skip


CONFIG = {
    "job": {"name": "dimuon"},
    "forking": {"children": 3},
    "threads": {"per_child": 2, "executor": "tbb"},
    "outputs": [{"label": "events"}],
}


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run directory; parts of it may be replaced."""

    def write(
        ledger: dict[int, list[dict[str, Any]]] | None = None,
        timeline: list[dict[str, Any]] | None = None,
        samples: list[dict[str, Any]] | None = None,
    ) -> Path:
        run = tmp_path / "run"
        run.mkdir(exist_ok=True)
        (run / "config.json").write_text(json.dumps(CONFIG))
        (run / "plan.json").write_text(json.dumps(plan()))
        for child, lines in (ledgers() if ledger is None else ledger).items():
            write_lines(run / "ledger" / f"child-{child:03d}.jsonl", lines)
        write_lines(run / "monitoring" / "events.jsonl", timeline or timeline_lines())
        write_lines(run / "monitoring" / "samples.jsonl", samples or sample_lines())
        return run

    return write


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, of which nothing is seen."""
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument("--window-size=1280,900")
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


def keep_pictures(browser: Any, page: Path, name: str) -> None:
    """In the folder FORKRUN_PICTURES, if it is set: PNG of each width, light and dark, and PDF."""
    if not (folder := os.environ.get("FORKRUN_PICTURES")):
        return
    Path(folder).mkdir(parents=True, exist_ok=True)

    def told(command: str, **options: Any) -> Any:
        return browser.execute_cdp_cmd(command, options)

    for width, scheme in ((360, "light"), (1400, "light"), (2560, "light"), (1400, "dark")):
        size = {"width": width, "deviceScaleFactor": 1, "mobile": False}
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        told("Emulation.setEmulatedMedia", features=features)
        told("Emulation.setDeviceMetricsOverride", height=900, **size)
        browser.get(page.as_uri())
        height = browser.execute_script("return document.documentElement.scrollHeight")
        told("Emulation.setDeviceMetricsOverride", height=height, **size)
        picture = told("Page.captureScreenshot", format="png")["data"]
        Path(folder, f"{name}-{width}-{scheme}.png").write_bytes(base64.b64decode(picture))
    paper = told("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"]
    Path(folder, f"{name}-print.pdf").write_bytes(base64.b64decode(paper))
    told("Emulation.setEmulatedMedia", features=[])
    told("Emulation.clearDeviceMetricsOverride")
