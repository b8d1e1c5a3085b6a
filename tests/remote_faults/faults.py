"""What may become of a server, of the way to it, and of what a user has to show it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from functools import partial

from tests.remote_faults.sites import Site, serve

_FOR_EVER = 1_000_000

SITES_OF = {
    "resets": ("root", "https", "http"),
    "refused": ("root", "https", "http"),
    "killed": ("root", "http"),
    "vanished": ("root", "http"),
    "truncated": ("root", "http"),
    "replaced": ("root", "http"),
    "damaged": ("root", "https"),
    "always_damaged": ("root", "https"),
    "hangs": ("root", "https", "http"),
    "hangs_for_ever": ("root", "https", "http"),
    "dead_redirect": ("redirected", "moved"),
    "unknown_name": ("root", "http"),
    "expired_before": ("gsi", "https"),
    "expires": ("gsi", "https"),
    "full_cache": ("cached",),
}
"""Kinds of faults, and the sites that they befall. Bytes damaged on their way from http:// are not
among them: nothing but TCP checks those."""

KINDS = tuple(SITES_OF)
AT_BEGIN = ("unknown_name", "expired_before")
"""Of these there is no moment."""


class Faults:
    """Of one site, which is as before at the end."""

    def __init__(self, site: Site, content: bytes, draw: random.Random) -> None:
        self._site, self._content, self._draw = site, content, draw
        self._proxy, self._server = site.proxy, site.server
        self._credential = site.credential.read_text() if site.credential else ""
        self._timers: list[threading.Timer] = []
        self.begun_s: float | None = None
        """When it began; None: it has not yet."""

    def begin(self, kind: str, after_bytes: int) -> None:
        """Once so many bytes have come from the server; 0: now."""
        fault = partial(self._befall, getattr(self, kind))
        if after_bytes:
            self._proxy.when(after_bytes, fault)
        else:
            fault()

    def _befall(self, fault: Callable[[], None]) -> None:
        self.begun_s = time.monotonic()
        fault()

    def end(self) -> None:
        """All is as it was."""
        for timer in self._timers:
            timer.cancel()
            timer.join()
        if self._server.is_dead():
            self._server.start()
        serve(self._site, self._content)
        if self._site.credential:
            self._site.credential.write_text(self._credential)
        (self._server.folder / "expired").unlink(missing_ok=True)
        if self._site.disk:
            (self._site.disk / "filler").unlink(missing_ok=True)
        proxy = self._proxy
        proxy.n_cuts = proxy.n_refused = proxy.n_to_damage = 0
        proxy.damage_after = None
        proxy.is_silent = False

    def _later(self, after_s: float, what: Callable[[], object]) -> None:
        self._timers.append(threading.Timer(after_s, what))
        self._timers[-1].start()

    def resets(self) -> None:
        self._proxy.cut_after = self._draw.choice((0, self._draw.randrange(1_000, 3_000_000)))
        self._proxy.n_cuts = self._draw.randrange(1, 12)

    def refused(self) -> None:
        self._cut_off()
        self._later(20, partial(setattr, self._proxy, "n_refused", 0))
        self._later(20, partial(setattr, self._proxy, "n_cuts", 0))

    def _cut_off(self) -> None:
        self._proxy.cut_after = 0
        self._proxy.n_cuts = self._proxy.n_refused = _FOR_EVER

    def killed(self) -> None:
        self._server.kill()
        self._later(self._draw.uniform(0, 12), self._server.start)

    def vanished(self) -> None:
        self._site.file.unlink()

    def truncated(self) -> None:
        self._site.put(self._content[: self._draw.randrange(len(self._content))])

    def replaced(self) -> None:
        self._site.put(self._content[:-100] + bytes(100))

    def damaged(self) -> None:
        self._proxy.n_to_damage = self._draw.randrange(1, 9)

    def always_damaged(self) -> None:
        self._proxy.damage_every = self._draw.choice((20_000, 100_000, 400_000))
        self._proxy.damage_after = self._draw.randrange(self._proxy.damage_every)

    def hangs(self) -> None:
        self._proxy.is_silent = True
        self._later(12, partial(setattr, self._proxy, "is_silent", False))

    def hangs_for_ever(self) -> None:
        self._proxy.is_silent = True

    def dead_redirect(self) -> None:
        self._cut_off()

    def unknown_name(self) -> None:
        """The name of the server is in the job."""

    def expired_before(self) -> None:
        assert self._site.credential
        self._site.credential.write_text(self._site.expired)

    def expires(self) -> None:
        """Of a token a web server looks at each request."""
        self.expired_before()
        (self._server.folder / "expired").touch()

    def full_cache(self) -> None:
        assert self._site.disk
        with (self._site.disk / "filler").open("wb", buffering=0) as filler:
            size = 1 << 16
            while size:
                try:
                    filler.write(bytes(size))
                except OSError:  # it has no more room for as many
                    size //= 2
