from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forkrun.errors import InputError
from forkrun.monitoring.records import RunRecords, TimelineLine, read_records
from forkrun.monitoring.report.children import spread, summarize_children, utilization
from forkrun.monitoring.report.event_counts import add_digests, count_events
from forkrun.monitoring.report.memory import memory_against_time, summarize_memory
from forkrun.monitoring.report.phases import first_events, last_commits, measure_phases
from forkrun.monitoring.report.summary import Outcome, summarize
from forkrun.monitoring.report.write import write_report
from forkrun.rundir.ledger import Commit
from tests.batch.synthetic import commit

from .conftest import MIB, T0, ledgers, plan, sample_line, sample_lines, timeline_lines, unit_line

WriteRun = Callable[..., Path]


def test_utilization_is_the_sum_over_the_longest_over_the_number(write_run: WriteRun) -> None:
    summary = summarize(read_records(write_run()))
    assert summary.balance.utilization == pytest.approx((12 + 9 + 6) / 12 / 3)
    assert [child.processing_s for child in summary.children] == [12, 9, 6]


def test_a_child_without_a_unit_lowers_the_utilization() -> None:
    assert utilization([4.0, 4.0, 0.0, 0.0]) == 0.5
    assert utilization([0.0, 0.0]) is None


def test_dispersion_is_range_and_relative_standard_deviation(write_run: WriteRun) -> None:
    balance = summarize(read_records(write_run())).balance
    assert balance.processing_times is not None
    assert balance.end_times is not None
    assert balance.processing_times.range_s == 6
    assert balance.processing_times.relative_std == pytest.approx((6**0.5) / 9)
    assert (balance.end_times.min_s, balance.end_times.max_s, balance.end_times.range_s) == (
        8,
        15,
        7,
    )


def test_startup_and_shutdown_are_told_apart_with_their_parts(write_run: WriteRun) -> None:
    phases = measure_phases(read_records(write_run()))
    assert phases.wall_s == 20
    assert (phases.startup_s, phases.processing_s, phases.shutdown_s) == (2, 6, 12)
    assert (phases.index_s, phases.modules_s) == (0.5, 1)
    assert phases.fork_s == pytest.approx(0.2)
    assert phases.first_event_s == pytest.approx(0.3)
    assert (phases.last_children_s, phases.merge_s, phases.event_loop_s) == (7, 3, 13)


def test_a_child_may_begin_before_its_parent_has_noted_the_fork(write_run: WriteRun) -> None:
    timeline = timeline_lines()
    early = {"time_s": T0 + 1.6, "event": "child_started", "child": 2, "pid": 102}
    late = [{**line, "time_s": T0 + 2.5} if line["child"] == 2 else line for line in timeline[:6]]
    phases = measure_phases(read_records(write_run(timeline=[*late, early, *timeline[6:]])))
    assert phases.fork_s == pytest.approx(0.2)
    assert phases.first_event_s == pytest.approx(0.3)


def test_a_child_begins_with_its_first_commit_or_when_the_parent_first_saw_an_event() -> None:
    def seen(child: int | None, time_s: float, event: str = "child_first_event") -> TimelineLine:
        return TimelineLine(time_s, event, child, {})

    def done(child: int, start_s: float, end_s: float) -> Commit:
        return commit(0, child=child, start_s=start_s, end_s=end_s)

    records = RunRecords(
        {},
        "",
        {},
        timeline=(
            *(seen(0, 5), seen(1, 6), seen(1, 8), seen(None, 1)),
            *(seen(2, 2, "fork"), seen(3, 9)),
        ),
        ledger=(done(0, 4, 7), done(0, 6, 9), done(3, 10, 12), done(3, 11, 11.5)),
    )
    assert first_events(records) == {0: 4, 1: 6, 3: 10}
    assert last_commits(records) == {0: 9, 3: 12}
    phases = measure_phases(records)
    # Child 0 ended before child 3 began: never did all of them work.
    assert (phases.processing_s, phases.last_children_s, phases.event_loop_s) == (0, 2, 8)


def test_rates_are_of_the_whole_job_and_of_the_event_loops(write_run: WriteRun) -> None:
    summary = summarize(read_records(write_run()))
    assert summary.totals.rate_events_per_s == 600 / 20
    assert summary.totals.event_loop_rate_events_per_s == 600 / 13
    assert [child.rate_events_per_s for child in summary.children] == [200 / 12, 200 / 9, 200 / 6]


def test_totals_are_the_sums_over_the_children(write_run: WriteRun) -> None:
    totals = summarize(read_records(write_run())).totals
    assert (totals.processing_s, totals.cpu_s, totals.cpu_efficiency) == (27, 13.5, 0.25)
    assert (totals.read_calls, totals.read_bytes, totals.mean_read_bytes) == (30, 60_000, 2000)


def test_counts_and_digests_agree_with_plan_and_merge(write_run: WriteRun) -> None:
    events = count_events(read_records(write_run()))
    assert (events.n_events_planned, events.n_events_read) == (600, 600)
    assert events.digests_agree is True
    assert events.complete
    assert [(o.n_events_written, o.n_events_merged, o.agree) for o in events.outputs] == [
        (60, 60, True)
    ]


def test_an_event_read_in_place_of_another_one_shows_in_the_digest(write_run: WriteRun) -> None:
    changed = ledgers()
    changed[1][0]["digest"] = f"{99:032x}"
    summary = summarize(read_records(write_run(ledger=changed)))
    assert summary.events.digests_agree is False
    assert summary.job.outcome is Outcome.FAILED


def test_a_merged_file_with_other_events_fails_the_report(write_run: WriteRun) -> None:
    timeline = timeline_lines()
    timeline[-2]["outputs"]["events"]["n_events"] = 59
    summary = summarize(read_records(write_run(timeline=timeline)))
    assert summary.events.outputs[0].agree is False
    assert summary.job.outcome is Outcome.FAILED


def test_memory_adds_up_over_processes_looked_at_together(write_run: WriteRun) -> None:
    totals = memory_against_time(read_records(write_run()))
    assert [(total.time_s - T0, total.n_processes) for total in totals] == [
        (1, 1),
        (5, 4),
        (10, 4),
        (17, 1),
    ]
    assert [total.pss_bytes // MIB for total in totals] == [100, 120, 160, 100]
    assert [total.shared_bytes // MIB for total in totals] == [60, 80, 80, 60]


def test_the_saving_is_rss_less_pss_at_the_peak(write_run: WriteRun) -> None:
    memory = summarize_memory(read_records(write_run()))
    assert memory is not None
    assert (memory.peak.rss_bytes, memory.peak.pss_bytes) == (400 * MIB, 160 * MIB)
    assert (memory.saving_bytes, memory.saving_fraction) == (240 * MIB, 0.6)
    assert memory.end.time_s == T0 + 10


def test_a_dead_child_is_named_and_what_is_committed_is_counted(write_run: WriteRun) -> None:
    kept = {0: ledgers()[0], 1: ledgers()[1][:1], 2: []}
    timeline = timeline_lines()[:-5]
    timeline.append({"time_s": T0 + 9, "event": "child_exit", "child": 2, "pid": 102,
                     "exit_code": -11, "status": "killed by signal 11 (SIGSEGV)"})  # fmt: skip
    run = write_run(ledger=kept, timeline=timeline)
    report = write_report(run)
    assert report["job"]["outcome"] == "failed"
    assert report["job"]["problem"] == "child 2: killed by signal 11 (SIGSEGV)"
    assert (report["events"]["n_events_read"], report["events"]["n_units_committed"]) == (300, 3)
    text = (run / "report.txt").read_text()
    assert "FAILED" in text
    assert "committed 3 of 6 units" in text
    assert "forkrun resume RUNDIR" in text
    assert report["events"]["digests_agree"] is None
    assert "DIFFER" not in text


def test_a_stopped_job_is_unfinished_and_says_what_is_done(write_run: WriteRun) -> None:
    kept = {0: ledgers()[0], 1: ledgers()[1][:1], 2: []}
    timeline = timeline_lines()[:-3]
    timeline.append({"time_s": T0 + 9, "event": "job_end", "child": None, "pid": 99,
                     "outcome": "stopped by signal 2 (SIGINT)", "unfinished": True})  # fmt: skip
    run = write_run(ledger=kept, timeline=timeline)
    report = write_report(run)
    assert report["job"]["outcome"] == "unfinished"
    problem = report["job"]["problem"].splitlines()
    assert problem[0] == "stopped by signal 2 (SIGINT)"
    assert problem[1].startswith("3 of 6 units (300 of 600 events) are done; ")
    assert "forkrun resume RUNDIR, resumes the job" in problem[1]
    text = (run / "report.txt").read_text()
    assert "UNFINISHED" in text
    assert "FAILED" not in text
    assert "DIFFER" not in text


def test_a_job_that_never_got_to_a_plan_still_has_a_report(write_run: WriteRun) -> None:
    run = write_run(
        ledger={}, timeline=timeline_lines()[:2], samples=[sample_line(1, None, 4, 6, 1)]
    )
    (run / "plan.json").unlink()
    report = write_report(run)
    assert report["job"]["outcome"] == "unfinished"
    assert report["events"]["n_events_planned"] is None
    assert "UNFINISHED" in (run / "report.txt").read_text()


def test_a_last_line_cut_off_by_a_crash_is_left_out(write_run: WriteRun) -> None:
    run = write_run()
    with (run / "monitoring" / "samples.jsonl").open("a") as file:
        file.write('{"time_s": 1')
    assert len(read_records(run).samples) == 11


def test_a_folder_that_is_no_run_directory_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run directory"):
        write_report(tmp_path)


def test_report_json_holds_what_write_report_returns(write_run: WriteRun) -> None:
    run = write_run()
    report = write_report(run, plots=False)
    assert json.loads((run / "report.json").read_text()) == json.loads(json.dumps(report))
    assert not (run / "plots").exists()


def test_a_resumed_job_is_described_whole_without_its_gaps(write_run: WriteRun) -> None:
    """A first session of 20 s, whose child 2 dies; after 20 s another one of 20 s."""
    died = {"exit_code": -9, "status": "killed by SIGKILL", "failed": True}
    first = [
        {**line, **(died if line["event"] == "child_exit" and line["child"] == 2 else {})}
        for line in timeline_lines()
    ]
    first[-1] = {**first[-1], "outcome": "child 2 died"}
    second = [
        {**line, "time_s": line["time_s"] + 40} for line in timeline_lines() if line["child"] != 2
    ]
    ledger = ledgers()
    ledger[1][1] = unit_line(4, 1, 44, 46)
    ledger[2][1] = unit_line(5, 0, 43, 49)
    samples = [*sample_lines(), *(sample_line(50, c, 60, 80, 4) for c in (None, 0, 1, 2))]
    report = summarize(
        read_records(write_run(ledger=ledger, timeline=[*first, *second], samples=samples))
    )
    assert [(s.start_s - T0, s.end_s - T0, s.n_events) for s in report.sessions] == [
        (0, 20, 400), (40, 60, 200),
    ]  # fmt: skip
    assert [s.outcome for s in report.sessions] == ["child 2 died", "ok"]
    phases = report.phases
    assert (phases.gaps_s, phases.wall_s, phases.merge_s) == (20, 40, 6)
    assert phases.event_loop_s == (15 - 2) + (49 - 43)
    assert report.totals.rate_events_per_s == 600 / 40
    assert report.totals.processing_s == 12 + 5 + 3 + 2 + 6
    # 20 s of work in the first one, whose longest was 12; 8 s in the second, whose longest was 6.
    assert report.balance.utilization == pytest.approx((20 / 3 + 8 / 3) / (12 + 6))
    assert report.memory is not None
    assert report.memory.peak.private_bytes == 240 * MIB
    assert report.children[2].status == "killed by SIGKILL, in an earlier session"
    assert not report.children[2].failed
    assert report.job.outcome == "done"


@pytest.mark.slow
def test_plots_are_written_as_png_svg_and_pdf(write_run: WriteRun) -> None:
    run = write_run()
    write_report(run, plots=True)
    names = sorted(path.name for path in (run / "plots").iterdir())
    kinds = ("pdf", "png", "svg")
    assert names == [f"{name}.{kind}" for name in ("activity", "memory") for kind in kinds]
    assert (run / "plots" / "memory.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (run / "plots" / "memory.pdf").read_bytes()[:5] == b"%PDF-"


@given(st.lists(st.floats(0.001, 1e5), min_size=1, max_size=50))
def test_utilization_lies_between_one_over_n_and_one(times: list[float]) -> None:
    value = utilization(times)
    assert value is not None
    assert 1 / len(times) - 1e-9 <= value <= 1 + 1e-9


@given(st.lists(st.floats(0.001, 1e5), min_size=1, max_size=50), st.floats(0.01, 100))
def test_relative_spread_does_not_depend_on_the_unit_of_time(
    times: list[float], scale: float
) -> None:
    one, other = spread(times), spread([scale * time for time in times])
    assert one is not None
    assert other is not None
    assert one.relative_std == pytest.approx(other.relative_std, rel=1e-6, abs=1e-9)


@given(st.lists(st.integers(0, 2**128 - 1), max_size=20))
def test_digests_add_up_in_any_order_and_grouping(values: list[int]) -> None:
    digests = [f"{value:032x}" for value in values]
    halves = [add_digests(digests[::2]), add_digests(digests[1::2])]
    assert add_digests(halves) == add_digests(digests)


@given(st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_children_sum_to_the_job_however_units_are_dealt(
    tmp_path_factory: pytest.TempPathFactory, dealt: list[int]
) -> None:
    from .conftest import CONFIG, unit_line, write_lines

    run = tmp_path_factory.mktemp("run")
    (run / "config.json").write_text(json.dumps(CONFIG))
    (run / "plan.json").write_text(json.dumps(plan()))
    for child in range(3):
        lines = [unit_line(i, c, i, i + 1) for i, c in enumerate(dealt) if c == child]
        write_lines(run / "ledger" / f"child-{child:03d}.jsonl", lines)
    children = summarize_children(read_records(run))
    assert sum(child.n_events for child in children) == 600
    assert sum(child.read_bytes for child in children) == 60_000
    assert sum(child.processing_s for child in children) == 6
