"""A reader of datacards, written from Combine's documentation ("Preparing the datacard")."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import uproot


class Datacard(NamedTuple):
    """Channels and their observed events; by (channel, process) the rate, and the names of the
    systematics that it has; numbers of processes; histograms, whose names the card tells."""

    observed: dict[str, float]
    rates: dict[tuple[str, str], float]
    systematics: dict[tuple[str, str], list[str]]
    numbers: dict[str, int]
    histograms: dict[tuple[str, str, str], Any]


def read_datacard(path: Path) -> Datacard:
    """Raises AssertionError where a rule of the documentation is broken."""
    lines = [line.split() for line in path.read_text().splitlines()]
    lines = [words for words in lines if words and not words[0].startswith(("#", "-"))]
    of = {words[0]: words[1:] for words in reversed(lines)}
    (observed, bins, names, numbers) = (
        dict(zip(of["bin"], map(float, of["observation"]), strict=True)),
        *[words[1:] for words in lines if words[0] in ("bin", "process")][1:],
    )
    columns = list(zip(bins, names, strict=True))
    assert len(set(columns)) == len(columns)
    assert int(of["imax"][0]) == len(observed) == len({*bins})
    assert int(of["jmax"][0]) == len({*names}) - 1
    number = dict(zip(names, map(int, numbers), strict=True))
    assert [number[name] for name in names] == [*map(int, numbers)]  # one for each name
    assert len({*number.values()}) == len(number)
    assert min(number.values()) <= 0 < max(number.values())  # signals are not above 0
    rows = [words for words in lines if len(words) > 1 and words[1] == "shape"]
    assert of["kmax"] == ["*"] or int(of["kmax"][0]) == len(rows)
    systematics: dict[tuple[str, str], list[str]] = {column: [] for column in columns}
    for source, _, *values in rows:
        for column, value in zip(columns, values, strict=True):
            systematics[column] += [source] if value != "-" else []
    card = Datacard(
        observed, dict(zip(columns, map(float, of["rate"]), strict=True)), systematics, number, {}
    )
    _read_shapes(path.parent, of["shapes"], card)
    return card


def _read_shapes(folder: Path, mapping: list[str], card: Datacard) -> None:
    assert mapping[:2] == ["*", "*"]
    file, nominal, varied = mapping[2:]
    opened = uproot.open(folder / file)

    def read(channel: str, process: str, systematic: str = "") -> Any:
        name = (varied if systematic else nominal).replace("$CHANNEL", channel)
        name = name.replace("$PROCESS", process).replace("$SYSTEMATIC", systematic)
        found = card.histograms[channel, process, systematic] = opened[name]
        edges = card.histograms[channel, "data_obs", ""].axis().edges().tolist()
        assert found.axis().edges().tolist() == edges
        return found

    for channel, n_observed in card.observed.items():
        assert read(channel, "data_obs").values().sum() == n_observed
    for (channel, process), rate in card.rates.items():
        assert read(channel, process).values().sum() == rate
        for source in card.systematics[channel, process]:
            for end in ("Up", "Down"):
                assert read(channel, process, f"{source}{end}").values().sum() > 0
    assert len([key for key in opened if "/" in key]) == len(card.histograms)
