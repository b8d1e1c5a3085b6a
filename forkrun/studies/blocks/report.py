"""What was found, for people."""

from __future__ import annotations

from collections.abc import Iterator

from forkrun.base.quantities import plural
from forkrun.studies.blocks.check import Checked, Found

_REMEDY = """\
No result may depend on blocks: how large they are follows from the machine. Usual reasons, and
what to do:
- a value of the whole block (a mean, a maximum, an index into it): compute it for each event, or
  before the job, as a condition
- random numbers that do not belong to events: take events.random
- something kept from one call to the next: leave sums to histograms"""


def describe(checked: Checked) -> str:
    """A line for each column, decision and histogram that differs, and what may be done."""
    compared = "; ".join(
        f"{layout.words} ({plural(layout.n_events, 'event')})" for layout in checked.layouts
    )
    if not checked.found:
        return f"no result depends on blocks: large ones compared with {compared}"
    lines = [_line(found, checked) for found in checked.found]
    return "\n".join([*lines, "", f"Large blocks were compared with {compared}.", _REMEDY])


def _line(found: Found, checked: Checked) -> str:
    difference = found.difference
    line = (
        f'module "{difference.module}": {difference.what} differs from event {found.event} on'
        f" ({found.layout.words})"
    )
    differing = {each.difference.module for each in checked.found}
    before = [label for label in _before(difference.module, checked) if label in differing]
    return line + (f'; this may follow from "{before[0]}"' if before else "")


def _before(module: str, checked: Checked) -> Iterator[str]:
    """Labels of all modules on whose products this one depends, itself excepted."""
    seen, ahead = {module}, [module]
    while ahead:
        for label in checked.makers.get(ahead.pop(0), ()):
            if label not in seen:
                seen.add(label)
                ahead.append(label)
                yield label
