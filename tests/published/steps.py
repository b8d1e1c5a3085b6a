"""The commands that measure published figures again, half an hour in all."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

JOBS = Path(__file__).with_name("jobs")
CONFIGS = Path(__file__).parents[2] / "configs"
MINIMUM_BIAS = "reco_minbias_busywait.config.gz"
HIGH_PILEUP = "reco_hipileup_5_2_0_sleeping_perfectIO.config.gz"
DONE = (0, 12)
"""Exit codes of commands that have measured: 12 of a busy machine."""


class Step(NamedTuple):
    """A command without `forkrun`; {work}: folder of samples, {data}: of public replay files."""

    name: str
    command: str


SAMPLES = (
    Step("sample", "sample {work}/sample.root --events 40000 --lumis 10 --quiet"),
    Step("wide sample", "sample {work}/wide.root --events 400000 --cluster 40000 --quiet"),
    Step("tt̄", "workload {work}/minbias.json --like minbias"),
    Step("high pile-up", "workload {work}/hipileup.json --like hipileup"),
)
STEPS = (
    Step("memory", "measure memory --reference arrays --conditions-mb 140 --private-mb 75"
         " --children 32 --processes 1 -q"),
    Step("work", "measure scaling {configs}/nanoaod_cpp.toml {work}/sample.root"
         " --work 1 5 20 --max-events 2000 -q"),
    Step("alike", "measure distribution {jobs}/alike.toml {work}/sample.root --children 32"
         " --threads 1 --repeats 3 -q"),
    Step("large first", "measure distribution {jobs}/large_first.toml {work}/sample.root"
         " --children 32 --threads 1 --repeats 3 -q"),
    Step("io", "measure io {configs}/nanoaod_cpp.toml {work}/wide.root --threads 1 --children 32"
         " --consecutive 1 100 max --cache warm -q"),
    Step("order", "measure order {work}/sample.root -q"),
    Step("estimate", "estimate {minbias}"),
    Step("estimate high pile-up", "estimate {hipileup} --threads 1,8,16,32,40,64"),
    Step("sleeping", "replay {hipileup} --mode sleep --iterations 20 --events-in-flight 2"
         " --threads 2 --time-scale 0.02 -q"),
    Step("many", "replay {hipileup} --mode sleep --iterations 2000 --events-in-flight 2000"
         " --threads 2000 --time-scale 0.3 -q"),
    Step("busy", "replay {hipileup} --mode busywait --iterations 20 --events-in-flight 2"
         " --threads 2 --time-scale 0.02 -q"),
    Step("scheduling", "measure scheduling {hipileup} -q"),
    Step("columns", "measure columns {work}/wide.root -q"),
    Step("histograms", "measure histograms -q"),
)  # fmt: skip


DRAWN = {"io": "io", "large first": "distribution", "columns": "columns", "order": "order"}
"""Steps whose plots are in the page, and their names there."""


def run_steps(work: Path, data: Path, images: Path, only: list[str]) -> Iterator[tuple[str, Any]]:
    """Results by step, of those that succeed; others say why on stderr. Plots go to `images`."""
    places = {"work": work, "jobs": JOBS, "configs": CONFIGS}
    for step in SAMPLES:
        _run(step, places)
    for name, file in (("minbias", MINIMUM_BIAS), ("hipileup", HIGH_PILEUP)):
        public = data / file
        places[name] = public if public.exists() else work / f"{name}.json"
    for step in STEPS:
        if not only or step.name in only:
            result = work / f"{step.name.replace(' ', '-')}.result.json"
            print(f"… {step.name}: forkrun {step.command}", flush=True)
            drawn = DRAWN.get(step.name)
            plot = f" --plot {images}/published-{drawn}.png" if drawn else ""
            if _run(Step(step.name, f"{step.command} --json {result}{plot}"), places):
                if drawn:
                    _make_small(images / f"published-{drawn}.png")
                yield step.name, _without_arrays(json.loads(result.read_bytes()))


def _run(step: Step, places: dict[str, Path]) -> bool:
    words = [word.format(**places) for word in step.command.split()]
    command = [sys.executable, "-m", "forkrun", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode not in DONE:
        print(f"{step.name}: exit code {done.returncode}", file=sys.stderr)
    return done.returncode in DONE


def _make_small(picture: Path) -> None:
    """With a palette: a fourth of the bytes, and no difference to see."""
    Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)


def _without_arrays(value: Any) -> Any:
    """The same without long lists: curves against time, which no line of the page has."""
    if isinstance(value, dict):
        return {key: _without_arrays(each) for key, each in value.items() if key != "host"}
    if isinstance(value, list):
        return [_without_arrays(each) for each in value[:40]]
    return value
