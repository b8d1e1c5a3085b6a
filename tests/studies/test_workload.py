"""Synthetic replay files: readable, repeatable, and like what they are to be like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forkrun.cli import main
from forkrun.errors import ConfigError
from forkrun.studies.estimate.graph import graph_of_replay
from forkrun.studies.estimate.scaling import measure_parallelism
from forkrun.studies.replay.model import Kind, ReplayJob
from forkrun.studies.replay.read import parse_replay, read_replay
from forkrun.studies.workload.generate import PRESETS, WorkloadOptions, fit, generate


def job_of(name: str, **wishes: Any) -> ReplayJob:
    return parse_replay(generate(PRESETS[name], WorkloadOptions(**wishes)), "workload")


@pytest.mark.parametrize("n_modules", [2, 3, 50, 489, 1000])
def test_a_file_of_any_size_is_read_and_all_of_it_runs(n_modules: int) -> None:
    job = job_of(
        "hipileup", n_modules=n_modules, n_filters=1, n_events=3, iterations=7, in_flight=2
    )
    assert len(job.modules) == n_modules
    assert sum(module.kind is Kind.FILTER for module in job.modules) == 1
    assert graph_of_replay(job).needed() == list(range(n_modules))
    assert (job.source.n_events, job.options.events_in_flight) == (7, 2)
    assert {len(module.event_times_s) for module in job.modules} == {3}


def test_the_same_seed_makes_the_same_file_and_another_one_another(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.json.gz" for i in range(3)]
    for path, seed in zip(paths, ("4", "4", "5"), strict=True):
        assert main(["workload", str(path), "--seed", seed, "--modules", "40"]) == 0
    contents = [path.read_bytes() for path in paths]
    assert contents[0] == contents[1] != contents[2]
    assert len(read_replay(paths[0]).modules) == 40


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_file_has_the_statistics_of_its_preset(name: str) -> None:
    wanted = PRESETS[name]
    jobs = [job_of(name, seed=seed) for seed in range(6)]
    found = [fit_quickly(job) for job in jobs]
    for key in ("mean_log_time", "mean_inputs", "n_levels"):
        assert np.mean([f[key] for f in found]) == pytest.approx(expected(wanted, key), rel=0.1)


def fit_quickly(job: ReplayJob) -> dict[str, float]:
    producers = [module for module in job.modules if module.kind is Kind.PRODUCER]
    graph = graph_of_replay(job)
    depth = np.zeros(len(graph.labels), dtype=int)
    for module in range(len(producers)):  # Makers come before consumers.
        depth[module] = 1 + max((depth[maker] for maker in graph.inputs[module]), default=0)
    return {
        "mean_log_time": float(np.mean(np.log(graph.times_s.mean(axis=1)))),
        "mean_inputs": float(np.mean([len(module.consumes) for module in producers])),
        "n_levels": float(depth.max()),
    }


def expected(statistics: Any, key: str) -> float:
    if key == "n_levels":
        return float(statistics.n_levels)
    name = {"mean_log_time": "log_time_quantiles", "mean_inputs": "input_quantiles"}[key]
    quantiles = np.array(getattr(statistics, name))
    return float(((quantiles[1:] + quantiles[:-1]) / 2).mean())


def test_wishes_are_kept() -> None:
    job = job_of("minbias", concurrency="one", mode="sleep", scale=0.5, seed=3)
    other = job_of("minbias", seed=3)
    assert {module.concurrency.value for module in job.modules} == {"one"}
    assert {module.work.value for module in job.modules} == {"sleep"}
    for module, full in zip(job.modules, other.modules, strict=True):
        np.testing.assert_allclose(module.event_times_s, full.event_times_s / 2, rtol=1e-5)


@pytest.mark.slow
def test_what_is_fitted_to_a_file_is_like_it() -> None:
    job = job_of("hipileup", n_modules=150, seed=8)
    statistics = fit(job)
    assert (statistics.n_modules, statistics.n_filters) == (150, 2)
    assert statistics.n_levels == PRESETS["hipileup"].n_levels
    assert statistics.correlation == pytest.approx(PRESETS["hipileup"].correlation, abs=0.1)


def test_wrong_wishes_are_errors(tmp_path: Path) -> None:
    for wrong in ({"n_modules": 0}, {"n_events": 0}, {"scale": 0.0}, {"iterations": -1}):
        with pytest.raises(ConfigError):
            WorkloadOptions(**wrong)
    assert main(["workload", str(tmp_path / "x.json"), "--like", "nothing"]) == 2
    assert main(["workload", str(tmp_path / "no" / "x.json")]) == 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("preset", "file"),
    [
        ("hipileup", "reco_hipileup_5_2_0_busywait_perfectIO.config.gz"),
        ("minbias", "reco_minbias_busywait.config.gz"),
    ],
)
def test_presets_are_like_the_public_files(real_data: Path, preset: str, file: str) -> None:
    real = measure_parallelism(graph_of_replay(read_replay(real_data / file)))
    likes = [measure_parallelism(graph_of_replay(job_of(preset, seed=s))) for s in range(8)]
    assert np.mean([like.speedup for like in likes]) == pytest.approx(real.speedup, rel=0.1)
    assert np.mean([like.total_s for like in likes]) == pytest.approx(real.total_s, rel=0.3)
    assert abs(likes[0].n_modules - real.n_modules) <= 1
