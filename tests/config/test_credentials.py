"""What is said of proxies and tokens where a server refuses access."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path

import pytest

from forkrun.config.remote import about_access

REFUSED = "root://host//f: cannot be read: Auth failed"


def token(end_s: float) -> str:
    content = base64.urlsafe_b64encode(json.dumps({"exp": end_s}).encode()).decode().rstrip("=")
    return f"e30.{content}.x"


@pytest.fixture(autouse=True)
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("BEARER_TOKEN", raising=False)
    monkeypatch.setenv("BEARER_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("X509_USER_PROXY", str(tmp_path / "proxy"))


def test_tokens_that_have_expired_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(token(time.time() - 7200) + "\n")
    assert f"the token in {tmp_path}/token expired 2.0 h ago" in about_access(REFUSED)
    monkeypatch.setenv("BEARER_TOKEN", token(time.time() + 1830))
    assert "the token in BEARER_TOKEN is valid for 30 min" in about_access(REFUSED)


def test_of_tokens_that_say_nothing_no_end_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They are as good as others."""
    (tmp_path / "token").write_text("opaque-4711\n")
    assert f"the token in {tmp_path}/token does not say until when" in about_access(REFUSED)
    (tmp_path / "token").unlink()
    assert f"the token in {tmp_path}/token cannot be read: " in about_access(REFUSED)
    monkeypatch.delenv("BEARER_TOKEN_FILE")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / f"bt_u{os.geteuid()}").write_text(token(time.time() - 7200))
    assert f"the token in {tmp_path}/bt_u{os.geteuid()} expired 2.0 h" in about_access(REFUSED)


def test_proxies_that_are_none_are_named(tmp_path: Path) -> None:
    (tmp_path / "proxy").write_text("no certificate")
    assert f"the proxy {tmp_path}/proxy cannot be read" in about_access(REFUSED)


def test_of_other_messages_nothing_is_said() -> None:
    assert about_access("root://host//f: cannot be read: no such file") == ""
    assert about_access("/data/f.root: permission denied") == ""
