"""Problems of a configuration: one line each, with key and nearest right name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from forkrun.base.arguments import LABEL_FORM
from forkrun.base.destinations import APART, TOGETHER
from forkrun.base.nearest import close_to, suggestion
from forkrun.base.quantities import plural
from forkrun.base.user_text import short
from forkrun.config.checks import Problem, Refused
from forkrun.config.conditions import CONDITION_TYPES, condition_problems
from forkrun.config.model import JobConfig
from forkrun.config.outputs import file_name_problems, output_label_problems
from forkrun.config.section import Section

Location = tuple[int | str, ...]
Raw = Mapping[str, Any]

_BOUND_FORM = 'RUN or "RUN:LUMI"'
_FORMS = {
    "modules.type": '"python:FILE.py:NAME", "python:PACKAGE.MODULE:NAME", "cpp:CLASS" or'
    ' "expression:EXPRESSION"',
    "source.collections": '"{collection}_{field}"',
    "conditions.type": f'{", ".join(CONDITION_TYPES)} or "python:FILE.py:NAME"',
    "conditions.iovs.since": _BOUND_FORM,
    "conditions.iovs.until": _BOUND_FORM,
    "iovs.since": _BOUND_FORM,
    "iovs.until": _BOUND_FORM,
    "modules.variation": 'letters, digits and _, such as "jes_up"',
    "outputs.compression": '"auto", "zstd:5", "lz4:4", "zlib:1", "lzma:6" (levels 1 to 9) or'
    ' "none"',
}
_MOVED = {
    "merge.order": 'this key has been replaced; write source.order = "sorted"',
    "threads.unpack": "unknown key: columns of LCIO are made when a module asks; leave it out",
}


def schema_problems(
    error: Refused, model: type[Section] = JobConfig
) -> Iterator[tuple[Location, str]]:
    """Place and words of each error found by the model."""
    for problem in error.problems:
        yield problem.place, _explain(problem, model)


def _explain(problem: Problem, model: type[Section]) -> str:
    location, kind, text = problem.place, problem.kind, problem.text
    if kind == "unknown" and ".".join(map(str, location)) in _MOVED:
        return _MOVED[".".join(map(str, location))]
    if kind == "unknown":
        return text + _meant(str(location[-1]), location[:-1], model)
    if kind == "missing" and location[0] == "modules" and location[-1] == "label":
        return f"{text}: no name follows from the type, or another module has it"
    if kind == "missing":
        return text
    if kind == "form":
        form = _FORMS.get(".".join(p for p in location if isinstance(p, str)), LABEL_FORM)
        return f"{short(problem.given)} is not of the form {form}"
    if isinstance(problem.given, str) and (close := close_to(problem.given, problem.choices)):
        text += f'; did you mean "{close}"?'
    return f"{text}, not {short(problem.given)}" if location and kind != "enum" else text


def _meant(key: str, place: Location, model: type[Section]) -> str:
    """The key that is probably meant: a section's, where it stands for a section."""
    known = _keys_at(place, model)
    sections = [name for name in known if key in _keys_at((name,), model)] if not place else []
    if not sections:
        return suggestion(key, known)
    name = sections[0]
    more = f"; also of {', '.join(sections[1:])}" if sections[1:] else ""
    return f'; it is one of {name}: {name} = {{ {key} = … }}, in Python {name}={{"{key}": …}}{more}'


def _keys_at(location: Location, model: type[Section]) -> list[str]:
    for part in location:
        if isinstance(part, str) and part in model.known_keys:
            model = _section_of(model.known_keys[part].annotation) or model
    return list(model.known_keys)


def _section_of(annotation: Any) -> type[Section] | None:
    candidates = [annotation, *get_args(annotation)]
    models = [c for c in candidates if isinstance(c, type) and issubclass(c, Section)]
    return models[0] if models else None


def reference_problems(raw: Raw) -> Iterator[tuple[Location, str]]:
    """Duplicate labels and names that lead nowhere. Takes what the model has not seen yet, so that
    these appear in the same list as wrong keys; parts of a wrong type are left to it."""
    for section in ("conditions", "modules", "outputs"):
        yield from _duplicates(section, raw)
    modules, paths = dict.fromkeys(_labels(raw, "modules")), raw.get("paths", {})
    if not isinstance(paths, Mapping):
        return
    known = set(modules)
    for path, labels in paths.items():
        for number, label in enumerate(_texts(labels)):
            if label not in known:
                what = f'no module has the label "{label}"'
                yield ("paths", path, number), what + suggestion(label, list(modules))
    for index, what in output_label_problems([t.get("label") for t in _tables(raw, "outputs")]):
        yield ("outputs", index, "label"), what
    yield from _dataset_problems(raw)
    for index, output in enumerate(_tables(raw, "outputs")):
        if isinstance(own := output.get("label"), str) and own in modules:
            what = f'a module has the label "{own}", too; give one of them another'
            yield ("outputs", index, "label"), what
    for index, output in enumerate(_tables(raw, "outputs")):
        for number, path in enumerate(_texts(output.get("paths", []))):
            if path not in paths:
                what = f'unknown path "{path}"'
                yield ("outputs", index, "paths", number), what + suggestion(path, paths)
        if not _texts(output.get("keep", ["*"])):
            yield ("outputs", index, "keep"), 'the output keeps nothing; keep = ["*"] keeps all'
    for index, condition in enumerate(_tables(raw, "conditions")):
        for place, what in condition_problems(condition):
            yield ("conditions", index, *place), what


def _dataset_problems(raw: Raw) -> Iterator[tuple[Location, str]]:
    outputs, datasets = _tables(raw, "outputs"), _tables(raw, "datasets")
    if any(output.get("datasets", APART) == APART for output in outputs):
        names = [dataset.get("name") for dataset in datasets]
        for index, what in file_name_problems(names, "dataset", "name"):
            yield ("datasets", index, "name"), what
    for index, output in enumerate(outputs):
        if output.get("datasets") is not None and not raw.get("datasets"):
            yield ("outputs", index, "datasets"), "the job has no [[datasets]]; leave this out"
        if output.get("datasets") == TOGETHER and output.get("per_lumi"):
            what = f'lumis of different datasets are never one; write datasets = "{APART}"'
            yield ("outputs", index, "per_lumi"), what


def _duplicates(section: str, raw: Raw) -> Iterator[tuple[Location, str]]:
    counts = Counter(_labels(raw, section))
    seen: set[str] = set()
    for index, table in enumerate(_tables(raw, section)):
        label = table.get("label")
        if isinstance(label, str):
            if label in seen:
                yield (
                    (section, index, "label"),
                    f'the label "{label}" is used {plural(counts[label], "time")}',
                )
            seen.add(label)


def _tables(raw: Raw, section: str) -> Sequence[Raw]:
    tables = raw.get(section, [])
    return [t if isinstance(t, Mapping) else {} for t in tables] if isinstance(tables, list) else []


def _labels(raw: Raw, section: str) -> list[str]:
    labels = [table.get("label") for table in _tables(raw, section)]
    return [label for label in labels if isinstance(label, str)]


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [v for v in value if isinstance(v, str)] if isinstance(value, list | tuple) else []


def dotted(location: Location, raw: Raw) -> str:
    """`modules[1].params (label "dimuon")`."""
    text, label = "", ""
    for depth, part in enumerate(location):
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
        if depth == 1 and isinstance(part, int):
            label = _label_of(raw, str(location[0]), part)
    return text + label


def _label_of(raw: Raw, section: str, index: int) -> str:
    tables = _tables(raw, section)
    label = tables[index].get("label") if index < len(tables) else None
    return f' (label "{label}")' if isinstance(label, str) else ""
