"""Web servers that change a file while it is read, or do things in ways of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkrun.studies.sample.settings import SampleSettings
from forkrun.studies.sample.write import write_sample
from tests.support.jobs import Ended, environment, forkrun, output_digests, write_job
from tests.support.odd_web_server import OddWebServer, odd_web_server
from tests.support.web_server import certify

JOB = """
import forkrun

job = forkrun.Job({file!r}, name="remote")
path = job.path("loose").filter("nMuon >= 2").hist("MET_pt", (50, 0, 200), name="met")
job.output("skim", paths=["loose"], keep=["*"])
"""
LIMITS = environment(FORKRUN_REMOTE_PAUSES="0,0", FORKRUN_CACHE="", FORKRUN_REMOTE_LIMITS="5,5")
N_REQUESTS = 15
"""Of a job whose server does nothing odd."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file, one of another size, and one that differs in its middle alone."""
    folder = tmp_path_factory.mktemp("served")
    settings = SampleSettings(n_events=4000, cluster=500, compression="none")
    write_sample(folder / "s.root", settings)
    content = bytearray((folder / "s.root").read_bytes())
    (folder / "s.longer").write_bytes(content + bytes(100))
    for place in range(100_000, len(content) - 600_000):
        content[place] ^= 1
    (folder / "s.middle").write_bytes(content)
    os.utime(folder / "s.root", (1_700_000_000, 1_700_000_000))
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[OddWebServer]:
    with odd_web_server(folder) as one:
        yield one


@pytest.fixture(scope="module")
def truth(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    here = tmp_path_factory.mktemp("here")
    ended = run(here, str(folder / "s.root"))
    assert ended.code == 0, ended.err
    return output_digests(here / "run")


def run(folder: Path, file: str, env: dict[str, str] = LIMITS) -> Ended:
    job = folder / "job.py"
    job.write_text(JOB.format(file=file))
    return forkrun("run", job, "-o", folder / "run", "--children", 1, cwd=folder, env=env)


@pytest.mark.slow
@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("after", [2, 4, 8, 12])
@pytest.mark.parametrize("by", ["longer", "middle"])
def test_a_file_that_is_replaced_while_it_is_read_is_named_and_can_come_back(
    tmp_path: Path, folder: Path, server: OddWebServer, truth: dict[str, str], by: str, after: int
) -> None:
    server.odd_after = after
    url = server.url(f"replaced-by-{by}/s.root")
    ended = run(tmp_path, url)
    assert ended.code == 3, ended.err
    assert url in ended.err
    assert "changed on the server while it was read (" in ended.err
    assert f'ETag "{(folder / "s.root").stat().st_ino:x}-2" → "' in ended.err
    assert "with --force" in ended.err
    assert "damaged" not in ended.err
    assert not list((tmp_path / "run").glob("output/*"))
    server.odd_after = 1_000_000
    again = forkrun("run", tmp_path / "job.py", "-o", tmp_path / "run", cwd=tmp_path, env=LIMITS)
    assert again.code == 0, again.err
    assert output_digests(tmp_path / "run") == truth


@pytest.mark.slow
@pytest.mark.quick_cases(4)
@pytest.mark.parametrize(
    ("odd", "most_requests"),
    [
        ("weak", N_REQUESTS),
        ("no-tag", N_REQUESTS),
        ("no-version", N_REQUESTS),
        ("nodes", 60),
        ("copies", 60),
        ("always-new", 60),
        *((f"refuses-many-{code}", 2 * N_REQUESTS) for code in (400, 403, 416, 431, 500, 501)),
    ],
)
def test_servers_that_tell_versions_or_give_ranges_in_their_own_way_are_read(
    tmp_path: Path, server: OddWebServer, truth: dict[str, str], odd: str, most_requests: int
) -> None:
    """`nodes` of a balancer have ETags of their own, `copies` also dates."""
    ended = run(tmp_path, server.url(f"{odd}/s.root"))
    assert ended.code == 0, ended.err
    assert output_digests(tmp_path / "run") == truth
    assert len(server.requests) <= most_requests


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ("whole", "gives no parts of files (HTTP ranges), but a whole file or page"),
        ("shifted", "the server gave bytes "),
        ("silent", "the server gave bytes that it does not name in place of bytes "),
    ],
)
def test_other_bytes_than_were_asked_for_are_not_taken(
    tmp_path: Path, server: OddWebServer, odd: str, why: str
) -> None:
    server.odd_after = 6
    ended = run(tmp_path, server.url(f"{odd}/s.root"))
    assert ended.code == 3
    assert why in ended.err
    assert not list((tmp_path / "run").glob("output/*"))


def test_a_loop_of_redirections_is_named_with_its_urls(
    tmp_path: Path, server: OddWebServer
) -> None:
    ended = forkrun("columns", server.url("loop/s.root"), cwd=tmp_path, env=LIMITS)
    assert ended.code == 3
    loop = f"{server.url('loop/s.root')} → /loop/s.root"
    assert f"redirected more than 20 times, in a loop: {loop}" in ended.err
    assert len(server.requests) == 3 * 21  # for its version, for trees, for other objects
    assert "secret" not in ended.err


@pytest.mark.slow
def test_a_token_of_any_form_that_is_renewed_in_its_file_is_read_again(
    tmp_path: Path, folder: Path, truth: dict[str, str]
) -> None:
    """Requests that came with the old one are made again. Signed URLs get none."""
    certificate, place = certify(tmp_path), tmp_path / f"bt_u{os.geteuid()}"
    trusts = {"SSL_CERT_FILE": str(certificate), "XDG_RUNTIME_DIR": str(tmp_path)}
    env = {**LIMITS, **trusts}
    env.pop("BEARER_TOKEN_FILE", None)
    with odd_web_server(folder, certificate) as server:

        def renew() -> None:
            server.valid_token = "opaque-2"
            place.write_text("opaque-2\n")

        server.valid_token, server.renew, server.odd_after = "opaque-1", renew, 6
        place.write_text("opaque-1\n")
        ended = run(tmp_path, server.url("guarded/s.root"), env)
        assert ended.code == 0, ended.err
        assert output_digests(tmp_path / "run") == truth
        assert server.tokens[0] == "Bearer opaque-1"
        assert server.tokens[-1] == "Bearer opaque-2"
        server.valid_token = "opaque-3"
        refused = forkrun("columns", server.url("guarded/s.root"), cwd=tmp_path, env=env)
        assert refused.code == 3
        assert f"the token in {place} does not say until when it is valid" in refused.err
        server.tokens.clear()
        url = server.url("plain/s.root?X-Amz-Signature=abc")
        assert forkrun("columns", url, cwd=tmp_path, env=env).code == 0
        assert set(server.tokens) == {""}


@pytest.mark.slow
def test_names_are_quoted_as_servers_take_them(
    tmp_path: Path, folder: Path, server: OddWebServer, truth: dict[str, str]
) -> None:
    """In the index, in children and in the merge; the plan has the name as it was sent."""
    for name, sent in (("a b#1%.root", "a%20b%231%25.root"), ("ä.root", "%C3%A4.root")):
        (folder / name).hardlink_to(folder / "s.root")
        place = tmp_path / sent
        place.mkdir()
        url = server.url(f"plain/{name}")
        ended = run(place, url.replace("http://", "HTTP://"))
        assert ended.code == 0, ended.err
        assert output_digests(place / "run") == truth
        assert server.url(f"plain/{sent}") in (place / "run/plan.json").read_text()
        assert {path for path, _ in server.requests} == {f"/plain/{sent}"}
        server.requests.clear()
    listed = tmp_path / "files.txt"
    listed.write_text(f"# two\n{server.url('plain/a b#1%.root')}\n{server.url('plain/ä.root')}\n")
    job = write_job(tmp_path, {"source": {"list": str(listed)}, "outputs": [{"label": "all"}]})
    twice = forkrun("check", job, cwd=tmp_path, env=LIMITS)
    assert twice.code == 3
    assert "is the same file as" in twice.err
