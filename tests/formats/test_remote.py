"""Files of a real XRootD server: the same outputs as of local ones, with few requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forkrun.studies.sample.collider.write import write_collider_sample
from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.fault_proxy import fault_proxy
from tests.support.jobs import (
    PATIENCE_S,
    Ended,
    environment,
    forkrun,
    output_digests,
    write_job,
)
from tests.support.web_server import WebServer, web_server
from tests.support.xrootd_server import XrootdServer, xrootd_server

N_EVENTS = 6000
JOB = """
import forkrun

job = forkrun.Job({file!r}, name="remote")
job.hist("Muon_pt", (50, 0, 100), name="pt")
path = job.path("loose").filter("nMuon >= {least}").hist("MET_pt", (50, 0, 200), name="met")
job.output("skim", paths=["loose"], keep=["*"])
"""
LCIO_JOB = """
import forkrun

job = forkrun.Job({file!r}, name="lcio")
job.define("charge", "sum(PandoraPFOs.charge)")
path = job.path("round").filter("max(parameters.Thrust) < 0.8")
job.output("copied", paths=["round"], keep=["*"], drop=["charge"])
job.output("changed", paths=["round"], keep=["*"], drop=["TPC*"])
"""
FRIENDS = """
import forkrun

job = forkrun.Job({file!r}, name="friends", friends={friend})
path = job.path("same").filter("MET_pt == other_MET_pt").filter("nMuon == other_nMuon")
job.output("out", paths=["same"], keep=["MET_pt"])
"""


@pytest.fixture(scope="module")
def server() -> Iterator[XrootdServer]:
    with xrootd_server() as one:
        settings = SampleSettings(
            n_events=N_EVENTS, n_branches=120, cluster=1000, compression="zlib:1"
        )
        write_sample(one.data / "s.root", settings)
        yield one


def run(folder: Path, name: str, file: str, *more: Any, least: int = 2) -> Ended:
    job = folder / f"{name}.py"
    job.write_text(JOB.format(file=file, least=least))
    return forkrun("run", job, "-o", folder / name, *more, cwd=folder)


def report(run_directory: Path) -> Any:
    return json.loads((run_directory / "report.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("children", [0, 2])
def test_outputs_of_remote_input_have_the_bytes_of_local_input(
    tmp_path: Path, server: XrootdServer, children: int
) -> None:
    for name, file in (("here", str(server.data / "s.root")), ("afar", server.url("s.root"))):
        ended = run(tmp_path, name, file, "--children", children)
        assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "afar") == output_digests(tmp_path / "here")


@pytest.mark.slow
def test_outputs_with_all_events_are_copied_from_afar(tmp_path: Path, server: XrootdServer) -> None:
    for name, file in (("here", str(server.data / "s.root")), ("afar", server.url("s.root"))):
        ended = run(tmp_path, name, file, least=0)
        assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "afar") == output_digests(tmp_path / "here")


@pytest.mark.slow
def test_files_of_lcio_are_skimmed_from_afar(tmp_path: Path, server: XrootdServer) -> None:
    """With and without records for random access; those of unchanged and of changed events."""
    write_collider_sample(server.data / "e.slcio", SampleSettings(n_events=40))
    whole = (server.data / "e.slcio").read_bytes()
    (server.data / "cut.slcio").write_bytes(whole[: _place_of_index(whole)])
    job = tmp_path / "lcio.py"
    with web_server() as web:
        (web.data / "cut.slcio").symlink_to(server.data / "cut.slcio")
        files = {
            "here": server.data / "e.slcio", "afar": server.url("e.slcio"),
            "web": web.url("cut.slcio"),
        }  # fmt: skip
        for name, file in files.items():
            job.write_text(LCIO_JOB.format(file=str(file)))
            ended = forkrun("run", job, "-o", tmp_path / name, "--children", 1, cwd=tmp_path)
            assert ended.code == 0, ended.err
    digests = [output_digests(tmp_path / name) for name in files]
    assert digests == digests[:1] * 3
    assert report(tmp_path / "afar")["totals"]["read_calls"] <= 8


def _place_of_index(data: bytes) -> int:
    return data.index(b"LCIOIndex") - 24


@pytest.mark.slow
def test_children_ask_the_server_a_few_times_and_read_the_same_bytes_however_many_they_are(
    tmp_path: Path, server: XrootdServer
) -> None:
    """Where the file says what it holds is read once, for the index, children and the merge. A
    child that is alone asks for all that it will read, before it takes it."""
    n_bytes = {}
    for children in (1, 4):
        with fault_proxy(server.port) as proxy:
            url = f"root://127.0.0.1:{proxy.port}/{server.data}/s.root"
            ended = run(tmp_path, f"with-{children}", url, "--children", children)
            assert ended.code == 0, ended.err
            n_bytes[children] = proxy.n_bytes
    assert n_bytes[4] < 1.05 * n_bytes[1]
    reading = report(tmp_path / "with-1")["totals"]
    assert reading["read_calls"] == 1
    n_in_file = (server.data / "s.root").stat().st_size
    assert reading["read_bytes"] < n_in_file / 2
    assert n_bytes[1] < 1.6 * n_in_file


@pytest.mark.slow
def test_rntuples_and_friends_in_other_files_are_read_ahead(
    tmp_path: Path, server: XrootdServer
) -> None:
    """In the loop and in the merge."""
    if not (server.data / "n.root").exists():
        made = forkrun("convert", server.data / "s.root", server.data / "n.root", cwd=tmp_path)
        assert made.code == 0, made.err
    for name in ("here", "afar"):
        file = str(server.data / "n.root") if name == "here" else server.url("n.root")
        ended = run(tmp_path, name, file, "--children", 1)
        assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "afar") == output_digests(tmp_path / "here")
    assert report(tmp_path / "afar")["totals"]["read_calls"] <= 4
    friend = {"files": server.url("n.root"), "tree": "Events", "prefix": "other_"}
    job = tmp_path / "friends.py"
    job.write_text(FRIENDS.format(file=server.url("s.root"), friend=friend))
    ended = forkrun("run", job, "-o", tmp_path / "f", "--children", 1, cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert report(tmp_path / "f")["events"]["outputs"][0]["n_events_merged"] == N_EVENTS
    assert report(tmp_path / "f")["totals"]["read_calls"] <= 8


def test_merged_and_indexed_from_afar(tmp_path: Path, server: XrootdServer) -> None:
    twice = [server.url("s.root"), str(server.data / "s.root")]
    merged = forkrun("merge", tmp_path / "both.root", *twice, cwd=tmp_path)
    assert merged.code == 0, merged.err
    listed = forkrun("columns", server.url("s.root"), "MET*", cwd=tmp_path)
    assert listed.code == 0, listed.err
    assert "MET_pt" in listed.out


def test_a_file_that_the_server_does_not_have_is_an_error_at_once(
    tmp_path: Path, server: XrootdServer
) -> None:
    ended = run(tmp_path, "afar", server.url("none.root"))
    assert ended.code == 3
    assert "no such file" in ended.err
    assert server.url("none.root") in ended.err


@pytest.mark.parametrize(
    ("damage", "what"), [("cut", "is damaged"), ("empty", "is not a readable ROOT file")]
)
def test_damaged_files_are_named_without_asking_for_them_for_minutes(
    tmp_path: Path, server: XrootdServer, damage: str, what: str
) -> None:
    content = (server.data / "s.root").read_bytes()
    (server.data / "damaged.root").write_bytes(b"" if damage == "empty" else content[:100_000])
    ended = run(tmp_path, "afar", server.url("damaged.root"))
    assert ended.code == 3
    assert f"{server.url('damaged.root')}: {what}" in ended.err
    assert "asking again" not in ended.err


def test_an_empty_file_of_a_web_server_is_named(tmp_path: Path, web: WebServer) -> None:
    (web.data / "empty.root").touch()
    ended = run(tmp_path, "afar", web.url("empty.root"))
    assert ended.code == 3
    assert f"{web.url('empty.root')}: cannot be read: the file is empty" in ended.err
    assert "asking again" not in ended.err


SECRETS = ("first-token", "second-token", "password")


def texts_in(folder: Path) -> str:
    return "\n".join(
        f.read_bytes().decode("latin-1") for f in sorted(folder.rglob("*")) if f.is_file()
    )


def configured(folder: Path, file: str) -> Path:
    config = folder / "job.toml"
    config.write_text(f'[source]\nfiles = ["{file}"]\n[[outputs]]\nlabel = "all"\n')
    return config


def test_secrets_of_urls_are_in_no_file_and_no_message(
    tmp_path: Path, server: XrootdServer
) -> None:
    secret = server.url("s.root").replace("root://", "root://me:password@")
    for token in ("first-token", "second-token"):
        config = configured(tmp_path, f"{secret}?authz={token}")
        again = forkrun("run", config, "-o", tmp_path / "run", "--children", 2, cwd=tmp_path)
        config.unlink()
        assert again.code == 0, again.err
        assert not [s for s in SECRETS if s in again.err + again.out + texts_in(tmp_path)]
    assert server.url("s.root") in texts_in(tmp_path / "run")
    assert "already done" in again.err
    missing = server.url("none.root")
    refused = forkrun("merge", tmp_path / "m.root", f"{missing}?authz=first-token", cwd=tmp_path)
    assert refused.code == 3
    assert f"{missing}: cannot be read" in refused.err
    assert not [s for s in SECRETS if s in refused.err]


@pytest.mark.slow
def test_the_next_replica_is_read_and_another_one_resumes_the_job(
    tmp_path: Path, server: XrootdServer
) -> None:
    nobody = "root://127.0.0.1:1"
    by_url = "|".join([f"{nobody}/{server.data}/s.root", server.url("s.root")])
    for name, file in (("here", str(server.data / "s.root")), ("afar", by_url)):
        ended = run(tmp_path, name, file, "--children", 2)
        assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "afar") == output_digests(tmp_path / "here")
    config = tmp_path / "job.toml"
    name = str(server.data / "s.root")
    for prefixes in (f'"{server.prefix}"', f'"{nobody}//", "{server.prefix}"'):
        config.write_text(
            f'[source]\nfiles = ["{name}"]\nprefixes = [{prefixes}]\n[[outputs]]\nlabel = "all"\n'
        )
        again = forkrun("run", config, "-o", tmp_path / "run", "--children", 2, cwd=tmp_path)
        assert again.code == 0, again.err
    assert "already done" in again.err
    dataset = f'[[datasets]]\nname = "one"\nfiles = ["{name}"]\n'
    config.write_text(f'{dataset}[source]\nprefixes = ["{server.prefix}"]\n')
    columns = forkrun("columns", config, cwd=tmp_path)
    assert columns.code == 0, columns.err


def test_outputs_to_servers_are_refused_at_once(tmp_path: Path, server: XrootdServer) -> None:
    target, file = "root://host//store/me/x.root", server.url("s.root")
    config = configured(tmp_path, file)
    for command in (
        ("merge", target, file),
        ("run", config, "-o", target),
        ("submit", config, "--on", "local", "-o", target),
    ):
        ended = forkrun(*command, cwd=tmp_path)
        assert ended.code == 4, ended.err
        assert "outputs are written to local files" in ended.err
    assert list(tmp_path.iterdir()) == [config]


def test_patterns_are_listed_by_the_server_and_files_that_are_known_not_opened(
    tmp_path: Path, server: XrootdServer
) -> None:
    for name in ("a/x_1.root", "b/x_0.root", "b/y_1.root"):
        (server.data / name).parent.mkdir(exist_ok=True)
        (server.data / name).write_bytes((server.data / "s.root").read_bytes())
    (server.data / "b/x_0.root").write_bytes(b"none")
    config = configured(tmp_path, server.url("[a-b]/x_*.root"))
    broken = forkrun("plan", config, cwd=tmp_path)
    assert broken.code == 3
    assert server.url("b/x_0.root") in broken.err
    (server.data / "b/x_0.root").unlink()
    cached = environment(FORKRUN_CACHE=str(tmp_path / "cache"))
    first = forkrun("plan", config, cwd=tmp_path, env=cached)
    assert first.code == 0, first.err
    assert "6,000 events, 20 lumis" in first.out
    known = server.data / "a/x_1.root"
    before = known.stat()
    known.write_bytes(bytes(before.st_size))
    os.utime(known, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert forkrun("plan", config, cwd=tmp_path, env=cached).out == first.out
    os.utime(known, (0, 0))
    assert forkrun("plan", config, cwd=tmp_path, env=cached).code == 3
    none = forkrun("plan", configured(tmp_path, server.url("z_*.root")), cwd=tmp_path)
    assert none.code == 3
    assert "no file matches this pattern" in none.err


@pytest.fixture(scope="module")
def web(server: XrootdServer) -> Iterator[WebServer]:
    with web_server() as one:
        (one.data / "s.root").write_bytes((server.data / "s.root").read_bytes())
        yield one


@pytest.mark.slow
def test_outputs_of_files_of_web_servers_have_the_bytes_of_local_input(
    tmp_path: Path, server: XrootdServer, web: WebServer
) -> None:
    """Secrets come to all who read, and to nobody else. Of servers that do not give many ranges for
    a request each is asked for."""
    signed, single = web.url("signed/s.root?token=sesame"), web.url("single/s.root")
    files = {"here": str(server.data / "s.root"), "afar": signed, "single": single}
    for name, file in files.items():
        ended = run(tmp_path, name, file, "--children", 2)
        assert ended.code == 0, ended.err
        assert output_digests(tmp_path / name) == output_digests(tmp_path / "here")
    assert report(tmp_path / "afar")["totals"]["read_calls"] <= 4
    assert "sesame" not in texts_in(tmp_path / "afar")
    merged = forkrun("merge", tmp_path / "m.root", web.url("moved/s.root"), cwd=tmp_path)
    assert merged.code == 0, merged.err
    source = {"files": [signed, web.url("moved/s.root")]}
    job = write_job(tmp_path, {"source": source, "outputs": [{"label": "all"}]})
    twice = forkrun("check", job, cwd=tmp_path)
    assert twice.code == 3
    assert f"{web.url('moved/s.root')}: is the same file as " in twice.err
    assert "sesame" not in twice.err


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("signed/s.root?token=open", "HTTP 403 (not allowed: a token or signature is missing"),
        ("none.root", "HTTP 404 (no such file)"),
        ("whole/s.root", "gives no parts of files"),
    ],
)
def test_what_web_servers_refuse_is_said_at_once(
    tmp_path: Path, web: WebServer, name: str, why: str
) -> None:
    ended = forkrun("columns", web.url(name), cwd=tmp_path)
    assert ended.code == 3
    assert why in ended.err
    assert "token=open" not in ended.err


def test_servers_are_read_by_tls_with_the_authority_of_the_environment(
    tmp_path: Path, web: WebServer
) -> None:
    trusted = environment(SSL_CERT_FILE=str(web.certificate))
    for name in ("signed/s.root?token=sesame", "moved/s.root"):
        read = forkrun("columns", web.secure_url(name), "MET*", cwd=tmp_path, env=trusted)
        assert read.code == 0, read.err
        assert "MET_pt" in read.out
    for name, env, why in (
        ("s.root", environment(), "certificate"),
        ("whole/s.root", trusted, "gives no parts of files"),
        ("signed/s.root?token=open", trusted, "HTTP 403"),
    ):
        refused = forkrun("columns", web.secure_url(name), cwd=tmp_path, env=env)
        assert refused.code == 3, name
        assert why in refused.err


READ_TWICE = """
import sys
from forkrun import _core

opened = _core.OpenTree(sys.argv[1], "Events")
print(opened.read(["MET_pt"], 0, 10)["MET_pt"].sum(), flush=True)
sys.stdin.readline()
print(opened.read(["MET_phi"], 0, -1)["MET_phi"].sum(), flush=True)
"""


def test_a_server_that_was_killed_and_came_back_is_asked_again(server: XrootdServer) -> None:
    def read_twice(file: str, between: Callable[[], None]) -> list[str]:
        command = [sys.executable, "-c", READ_TWICE, file]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdout
            first = process.stdout.readline()
            between()
            rest, _ = process.communicate("\n", timeout=PATIENCE_S)
            assert process.returncode == 0
            return [first, rest]

    def start_again() -> None:
        server.kill()
        server.start()

    afar = read_twice(server.url("s.root"), start_again)
    assert afar == read_twice(str(server.data / "s.root"), lambda: None)
