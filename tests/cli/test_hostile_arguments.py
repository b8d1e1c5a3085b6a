"""Whatever is given to a command: a documented exit code and a few words, never a traceback."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forkrun.base.user_text import MOST_NESTED, parse_json, parse_toml
from forkrun.cli import main
from tests.support.files import write_events

DOCUMENTED = {0, 2, 3, 4, 5, 6, 7, 8, 9}
DIGITS = "9" * 5000
DEEP = "[" * 100_000 + "]" * 100_000
BYTES = random.Random(7).randbytes(3000)

CONFIGURATIONS: dict[str, str | bytes] = {
    "bytes.toml": BYTES,
    "bytes.json": BYTES,
    "empty.json": "",
    "deep.json": f'{{"modules": {DEEP}}}',
    "deep.toml": f"modules = {DEEP}",
    "flat-deep.json": '{"modules": [{"label": "a", "type": "cpp:A", "params": {"x": %s}}]}'
    % ("[" * 700 + "]" * 700),
    "digits.json": f'{{"forking":\n {{"children": {DIGITS}}}}}',
    "digits.toml": f"[forking]\nchildren = {DIGITS}",
    "long.toml": "[forking]\nchildren = " + "9" * 400,
    "size.toml": '[limits]\nmemory = "' + "9" * 400 + '"',
    "nan.json": '{"limits": {"walltime": NaN}}',
    "infinity.json": '{"limits": {"walltime": -Infinity}}',
    "overflow.json": '{"limits": {"walltime": 1e999}}',
    "inf.toml": "[limits]\nwalltime = inf",
    "nan.toml": "[monitoring]\nsampling_interval_s = nan",
    "latin.toml": b'[job]\nname = "\xe9"',
    "nul.json": '{"source": {"files": ["a\\u0000b"]}}',
    "surrogate.json": '{"source": {"files": ["a\\ud800b"]}}',
    "key.json": '{"modules": [{"label": "a", "type": "cpp:A", "params": {"\\u0000": 1}}]}',
    "null.json": "null",
    "list.json": "[1, 2]",
    "types.json": '{"job": 3, "source": [], "forking": "x", "modules": {"a": 1}, "paths": [1],'
    ' "outputs": "all", "conditions": [[1]], "limits": null}',
}
MASKS = {
    "digits": f'{{"1": [[1, {DIGITS}]]}}',
    "deep": DEEP,
    "deep inside": f'{{"1": {DEEP}}}',
    "NaN": '{"1": [[NaN, 3]]}',
    "run of digits": f'{{"{DIGITS}": [[1, 2]]}}',
    "overflow": '{"1": [[1, 1e400]]}',
    "list": "[]",
    "a superscript": '{"²": [[1, 2]]}',
    "bytes": BYTES,
    "latin": b'{"\xe9": [[1, 2]]}',
    "truncated": '{"1": [[1, 2]',
    "backwards": '{"1": [[2, 1]]}',
}
NUMBERS = ["-1", "1e9", "nan", "inf", "x", "", "2.5", "9" * 30, DIGITS, "-" + "9" * 20]
PATHS = ["missing", "missing/x.toml", "folder", "bytes.root", "a\0b", "\udcff.toml", "x" * 5000, ""]
COMMANDS = ["run", "check", "plan", "resume", "report", "compare", "merge", "replay", "estimate"]


def as_bytes(content: object) -> bytes:
    return content if isinstance(content, bytes) else str(content).encode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    write_events(folder / "ok.root", [(1, 1, 20), (1, 2, 20)])
    (folder / "folder").mkdir()
    (folder / "bytes.root").write_bytes(BYTES)
    (folder / "bytes.gz").write_bytes(b"\x1f\x8b" + BYTES)
    for name, content in CONFIGURATIONS.items():
        (folder / name).write_bytes(
            content if isinstance(content, bytes) else str(content).encode()
        )
    job: dict[str, Any] = {
        "source": {"files": [str(folder / "ok.root")]},
        "outputs": [{"label": "all"}],
        "forking": {"children": 0},
    }
    (folder / "good.json").write_text(json.dumps(job))
    assert main(["workload", str(folder / "w.json"), "--modules=3", "--events=3"]) == 0
    return folder


def check(
    arguments: list[str], place: Path, capsys: pytest.CaptureFixture[str], codes: set[int]
) -> str:
    """Runs the command in `place`; gives what it said on stderr."""
    before = Path.cwd()
    os.chdir(place)
    try:
        code: object = main(arguments)
    except SystemExit as end:  # argparse
        code = end.code
    finally:
        os.chdir(before)
    err = capsys.readouterr().err
    shown = [argument[:60] for argument in arguments]
    assert code in codes, (shown, code, err[:2000])
    assert "Traceback" not in err, (shown, err[-2000:])
    assert "internal error" not in err, (shown, err[-2000:])
    assert max(map(len, err.splitlines()), default=0) < 6000, shown
    return err


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_wrong_configuration_is_exit_2_with_its_file(
    place: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    for command in ("run", "check", "plan"):
        err = check([command, name], place, capsys, {2})
        assert name in err
        assert len(err) < 4000


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("name", MASKS)
def test_a_wrong_mask_is_exit_2_with_its_file(
    place: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content = MASKS[name]
    (place / "mask.json").write_bytes(
        content if isinstance(content, bytes) else str(content).encode()
    )
    err = check(["plan", "good.json", "--lumi-mask", "mask.json"], place, capsys, {2})
    assert "mask.json" in err
    assert len(err) < 4000


def hostile_paths() -> Iterator[list[str]]:
    for path in PATHS:
        for command in COMMANDS:
            yield [command, path]
        yield ["merge", "out.root", path]
        yield ["merge", path, "missing.root"]
        yield ["workload", "o.json", "--like", path]
        yield ["workload", f"{path}/x", "--events=2", "--modules=3"]
        yield ["sample", f"{path}/x" if path == "missing" else path, "--events=5", "--quiet"]
        yield ["measure", "memory", path, "-q"]
        yield ["measure", "unshared", path, "-q"]
        yield ["plan", "good.json", "--simulate", "--costs", path]
        yield ["plan", "good.json", path]
    for command in COMMANDS:
        yield [command, "bytes.json"]
        yield [command, "digits.json"]
    yield ["replay", "bytes.gz"]
    yield ["estimate", "bytes.gz"]
    yield ["run", "good.json", "-o", "missing-or-not/x\0", "-q"]
    yield ["run", "good.json", "-o", "bytes.json/x", "-q"]
    yield ["run", "good.json", "-o", "x" * 5000, "-q"]
    yield []
    yield ["nonsense"]


@pytest.mark.slow
def test_paths_of_all_kinds_have_documented_ends(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in hostile_paths():
        harmless = arguments[:1] == ["sample"] and arguments[1] in ("missing", "folder")
        if not harmless:
            check(arguments, place, capsys, DOCUMENTED)


def hostile_numbers() -> Iterator[list[str]]:
    keys = ("job.seed", "forking.children", "forking.max_unit_events", "forking.recycle_memory",
            "recovery.hang_timeout", "threads.per_child", "threads.block_size", "limits.walltime",
            "monitoring.trace_calls", "monitoring.sampling_interval_s", "source.max_events",
            "x.y.z", "modules.0.label", "job", "limits.memory")  # fmt: skip
    flags = ("children", "threads", "max-events", "skip-events", "events-per-turn", "max-walltime",
             "max-memory", "units", "with-children", "first", "per-lumi", "overhead", "cluster",
             "synthetic", "costs")  # fmt: skip
    for n in NUMBERS:
        yield from (["plan", "good.json", "--set", f"{key}={n}"] for key in keys)
        yield from (["plan", "good.json", "--simulate", f"--{flag}={n}"] for flag in flags)
        for flag in ("modules", "filters", "events", "iterations", "events-in-flight", "seed",
                     "scale"):  # fmt: skip
            yield ["workload", "o.json", "--modules=3", "--events=2", f"--{flag}={n}"]
        for flag in ("runs", "lumis", "branches", "files", "drift", "peak", "cluster",
                     "compression", "seed"):  # fmt: skip
            yield ["sample", "s.root", "--quiet", "--events=5", f"--{flag}={n}"]
        for flag in ("events-in-flight", "threads", "children", "block-size", "iterations"):
            yield ["replay", "w.json", "-q", "--executor=serial", "--iterations=1", f"--{flag}={n}"]
        yield ["estimate", "w.json", "--threads", n]
        yield ["estimate", "w.json", f"--events-in-flight={n}"]
        yield ["run", "good.json", "-o", "r", "--only", n, "-q"]
        yield ["run", "good.json", "-o", "r", "--only", f"1:1:{n}", "-q"]
    for setting in ("=", "a", "a=", "a=[", "a=" + DEEP, "..=1", "forking.children.x=1"):
        yield ["check", "good.json", "--set", setting]


@pytest.mark.slow
def test_numbers_of_all_kinds_have_documented_ends(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in hostile_numbers():
        check(arguments, place, capsys, DOCUMENTED)


BOUNDS = {
    "forking.children": 2**70,
    "threads.per_child": 1_000_000,
    "threads.concurrent_blocks": 10**9,
    "threads.block_size": 10**12,
    "source.max_events": 2**63,
    "monitoring.sampling_interval_s": 1e9,
    "monitoring.trace_calls": 10**12,
    "recovery.hang_timeout": 1e300,
    "limits.memory": 2**64,
}


@pytest.mark.parametrize("key", BOUNDS)
def test_numbers_beyond_sense_are_refused_with_the_bound_and_why(
    place: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    err = check(["check", "good.json", "--set", f"{key}={BOUNDS[key]}"], place, capsys, {2})
    assert f"{key}: at most " in err


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
)  # fmt: skip


@pytest.mark.slow
@given(json_values)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_ordinary_json_is_read_as_it_is(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@given(st.integers(0, 2000), st.sampled_from("[{"))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nesting_is_bounded_whatever_the_parser_bears(depth: int, kind: str) -> None:
    text = "[" * depth + "]" * depth if kind == "[" else '{"a":' * depth + "1" + "}" * depth
    if depth == 0:
        return
    if depth < MOST_NESTED:
        parse_json(text)
        parse_toml(f"x = {text if kind == '[' else '1'}")
    elif depth > MOST_NESTED + 1:
        with pytest.raises(ValueError, match="nested"):
            parse_json(text)
        if kind == "[":
            with pytest.raises(ValueError, match="nested"):
                parse_toml(f"x = {text}")


@pytest.mark.slow
def test_thousands_of_problems_are_cut_to_those_that_somebody_reads(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = [f"module{number}" for number in range(1000)]
    job = {
        "modules": [{"label": label, "type": "cpp:A"} for label in labels],
        "paths": {label: [f"wrong-{label}"] for label in labels},
    }
    (place / "many.json").write_text(json.dumps(job))
    err = check(["check", "many.json"], place, capsys, {2})
    assert len(err.splitlines()) == 1 + 100 + 1
    assert "many.json: and more; these are the first" in err


@pytest.mark.parametrize("command", ["sample", "merge"])
def test_what_is_no_file_is_not_replaced_by_one(
    place: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """A named pipe stands for /dev/null."""
    pipe = place / f"pipe-{command}"
    os.mkfifo(pipe)
    rest = ["--events=5"] if command == "sample" else ["ok.root", "--force"]
    err = check([command, str(pipe), *rest], place, capsys, {4})
    assert "is a folder or a device" in err
    assert pipe.is_fifo()
