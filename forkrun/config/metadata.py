"""Metadata of a dataset in the spellings of coffea's filesets and others: data or simulation, cross
section, sum of weights."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from forkrun.base.user_text import short

# Keys are compared in lower case, without what joins their words.
_DATA = ("isdata", "data", "isrealdata", "realdata", "iscollisiondata")
_SIMULATION = (
    "ismc", "mc", "issim", "sim", "issimulation", "simulation", "issimulated", "simulated",
    "ismontecarlo", "montecarlo",
)  # fmt: skip
_KINDS = ("kind", "type", "datatype", "datasettype", "datasetkind", "sampletype", "dataormc")
_CROSS_SECTIONS = ("crosssection", "xsec", "xs", "xsection")
_SUMS = (
    "sumofweights", "sumw", "sumweights", "sumofgenweights", "sumgenweights", "geneventsumw",
    "nsumofweights",
)  # fmt: skip

_TRUE, _FALSE = ("true", "yes", "1", "t", "y", "on"), ("false", "no", "0", "f", "n", "off")
_DATA_WORDS = ("data", "realdata", "real", "collisions", "collisiondata")
_SIMULATION_WORDS = (
    "mc", "sim", "simulation", "simulated", "montecarlo", "signal", "background", "fullsim",
    "fastsim",
)  # fmt: skip
_NOT_SAID = (None, "", "none", "null")
_LOOKS_SO = re.compile(r"^is.*(data|real|mc|sim|montecarlo)")
_REMEDY = "write is_data = true or is_data = false"
_WANTED = "metadata.{}: {} says neither that it is data nor that it is simulation; {}"


def described(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """A raw dataset with what its metadata say and it does not say itself. Raises ValueError for
    what is not understood, or said otherwise."""
    metadata = dataset.get("metadata")
    if not isinstance(metadata, Mapping):
        return dict(dataset)
    given = dataset.get("is_data")
    is_data = _is_data(metadata, given if isinstance(given, bool) else None)
    found = {**dataset} if is_data is None else {**dataset, "is_data": is_data}
    if is_data:  # its cross section, if somebody gave one, means nothing
        return found
    for key, names in (("cross_section", _CROSS_SECTIONS), ("sum_of_weights", _SUMS)):
        if dataset.get(key) is None and (value := _number(metadata, names)) is not None:
            found[key] = value
    return found


def _normal(key: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(key).lower())


def _word(value: Any) -> Any:
    """A text in lower case; 1 and 0 as their digits."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value).strip().lower() if isinstance(value, str) or is_number else value


def _is_data(metadata: Mapping[str, Any], given: bool | None) -> bool | None:
    """`given`: by the dataset itself. None: nobody says it. What only looks as if it said it is
    refused where nothing else does."""
    said: dict[str, bool] = {} if given is None else {"is_data": given}
    unclear = []
    for key, value in metadata.items():
        word, name = _word(value), _normal(key)
        found = None if word in _NOT_SAID else _says(name, word)
        if isinstance(found, bool):
            said[f"metadata.{key}"] = found
        elif found:
            unclear.append(_WANTED.format(key, short(value), _REMEDY))
    if len(set(said.values())) > 1:
        which = [f"{key}: {'data' if is_data else 'simulation'}" for key, is_data in said.items()]
        raise ValueError(f"{', '.join(which)}; only one can be meant")
    if not said and unclear:
        raise ValueError("; ".join(unclear))
    return next(iter(said.values()), None)


def _says(name: str, word: Any) -> bool | str:
    """Whether it is data; "": it says nothing of that, another text: it seems to."""
    if name in (*_DATA, *_SIMULATION):
        truth = word if isinstance(word, bool) else _of_words(word, _TRUE, _FALSE)
        if truth is not None:
            return truth is (name in _DATA)
    if name in (*_DATA, *_SIMULATION, *_KINDS):
        text = _normal(word) if isinstance(word, str) else word
        kind = _of_words(text, _DATA_WORDS, _SIMULATION_WORDS)
        if kind is not None:
            return kind
        words = re.findall("[a-z]+", word) if isinstance(word, str) else []
        is_about = name not in _KINDS or not {"data", "mc", "sim", "simulation"}.isdisjoint(words)
        return "unclear" if is_about else ""
    is_near = get_close_matches(name, ("isdata", "ismc", "issimulation"), 1, 0.8)
    return "unclear" if is_near or _LOOKS_SO.match(name) else ""


def _of_words(word: Any, true: Iterable[str], false: Iterable[str]) -> bool | None:
    """None: it is in neither."""
    if not isinstance(word, str) or not (word in true or word in false):
        return None
    return word in true


def _number(metadata: Mapping[str, Any], names: tuple[str, ...]) -> float | None:
    """A finite number above 0, also written as a text; None: it is not said."""
    said: dict[str, float] = {}
    for key, value in metadata.items():
        if _normal(key) in names and _word(value) not in _NOT_SAID:
            said[key] = _positive(key, value)
    if len(set(said.values())) > 1:
        which = ", ".join(f"metadata.{key}: {value:g}" for key, value in said.items())
        raise ValueError(f"{which}; only one can be meant")
    return next(iter(said.values()), None)


def _positive(key: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ValueError(
            f"metadata.{key}: {short(value)} has to be a number above 0; for data write"
            " is_data = true"
        )
    return number


def all_described(
    datasets: Iterable[Mapping[str, Any]], refuse: Callable[[list[str]], Exception]
) -> list[dict[str, Any]]:
    """All of them, or what `refuse` makes of every problem, each with the name of its dataset."""
    found, problems = [], []
    for dataset in datasets:
        try:
            found.append(described(dataset))
        except ValueError as error:
            problems.append(f'datasets: "{dataset.get("name")}": {error}')
    if problems:
        raise refuse(problems)
    return found
