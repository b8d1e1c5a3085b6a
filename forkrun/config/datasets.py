"""[[datasets]]: files that belong together; filesets of coffea, from files of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from forkrun.base.destinations import APART
from forkrun.base.nearest import suggestion
from forkrun.base.user_text import parse_json
from forkrun.config.anchor import anchored
from forkrun.config.checks import Rule
from forkrun.config.metadata import all_described
from forkrun.config.section import Flag, Label, Number, Section, Texts
from forkrun.errors import ConfigError

CrossSection = Annotated[Number, Rule(gt=0, is_finite=True)]

WEIGHT = "lumi_weight"
"""Column, and label of its module: luminosity times cross section over the sum of weights."""
_WEIGHT_TYPE = "python:forkrun.modules.datasets.weight:DatasetWeight"


class DatasetConfig(Section):
    """[[datasets]]: modules have it as `events.dataset`."""

    name: Label
    """Name in `--dataset`, in the axis `dataset` of histograms and in files of outputs."""
    files: Texts
    """Paths, globs and URLs, in input order."""
    tree: str | None = None
    """Tree of events, the same for all datasets; not given: `source.tree`."""
    cross_section: CrossSection | None = None
    """Cross section in pb."""
    is_data: Flag = False
    """Whether these are data: their weight is 1, and the lumi mask holds for them."""
    sum_of_weights: CrossSection | None = None
    """Sum of weights of all generated events, each once; not given: from the trees `Runs` of the
    files."""
    metadata: dict[str, Any] = {}
    """Anything, for modules; used where the keys above are not given
    (docs/datasets.md#datasets)."""


def with_datasets(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration whose source reads the files of its datasets, those of `source.datasets`
    alone if it names some; outputs of several datasets keep them apart where nothing else is said.
    Raises ValueError."""
    given: Any = raw.get("datasets")
    if not _are_tables(given) or not _have_form(raw, given):
        return dict(raw)
    given = all_described(given, lambda problems: ValueError("; ".join(problems)))
    source = dict(raw.get("source") or {})
    chosen = _chosen(given, source.get("datasets") or ())
    source["tree"] = _tree(given, source)
    if source.get("datasets"):
        source["datasets"] = [dataset.get("name") for dataset in chosen]
    if not source.get("files"):
        source["files"] = files_of(chosen)
    modules = raw.get("modules") or []
    if makes_weight(raw):
        modules = [{"label": WEIGHT, "type": _WEIGHT_TYPE}, *modules]
    more = {"datasets": given, "source": source, "modules": list(modules)}
    return {**raw, **more, **_outputs(raw, len(given))}


def makes_weight(raw: Mapping[str, Any]) -> bool:
    """Whether `with_datasets` adds the module of weights, before all others."""
    given = raw.get("datasets")
    if not given or not _are_tables(given) or not _have_form(raw, given):
        return False
    is_there = any(module.get("label") == WEIGHT for module in raw.get("modules") or [])
    return bool((raw.get("job") or {}).get("luminosity")) and not is_there


def _outputs(raw: Mapping[str, Any], n_datasets: int) -> dict[str, Any]:
    outputs: Any = raw.get("outputs")
    if n_datasets < 2 or not _are_tables(outputs):
        return {}
    return {"outputs": [{"datasets": APART, **each} for each in outputs]}


def files_of(datasets: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Files of raw datasets, in input order."""
    return [file for dataset in datasets for file in _listed(dataset.get("files"))]


def _are_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value)


def _have_form(raw: Mapping[str, Any], given: Any) -> bool:
    """Whether what the datasets change is as it has to be; what is not is refused later."""
    sections = [raw.get(name) or {} for name in ("source", "job")]
    if not _are_tables(sections) or not _are_tables(raw.get("modules") or []):
        return False
    lists = [dataset.get("files") or [] for dataset in given] + [sections[0].get("datasets") or []]
    trees = [table.get("tree") for table in (*given, sections[0])]
    return all(isinstance(each, str | list | tuple) for each in lists) and all(
        isinstance(tree, str | None) for tree in trees
    )


def _chosen(given: Any, names: Any) -> list[Mapping[str, Any]]:
    known = [str(dataset.get("name")) for dataset in given]
    for number, name in enumerate(known):
        if name in known[:number]:
            raise ValueError(f'datasets: there are two datasets "{name}"')
    for name in _listed(names):
        if not any(fnmatchcase(each, str(name)) for each in known):
            raise ValueError(f'source.datasets: no dataset "{name}"' + suggestion(name, known))
    return [
        dataset
        for dataset, name in zip(given, known, strict=True)
        if not names or any(fnmatchcase(name, str(each)) for each in _listed(names))
    ]


def _tree(given: Any, source: Mapping[str, Any]) -> str:
    trees = {dataset["tree"] for dataset in given if dataset.get("tree")}
    trees |= {source["tree"]} if "tree" in source else set()
    if len(trees) > 1:
        raise ValueError(
            f"datasets: one job reads one tree, not {', '.join(sorted(trees))}; make a job for each"
        )
    return trees.pop() if trees else "Events"


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value or ())


_TREES = ("treename", "treeName", "tree")
_NO_METADATA = ("files", "metadata", "form", "compressed_form", *_TREES)


def read_fileset(path: str) -> list[dict[str, Any]]:
    """The datasets of a fileset of coffea, a JSON file: {"ttbar": {"files": {"a.root": "Events"},
    "metadata": {"xsec": 831.8}}}, or {"ttbar": ["a.root"]}. Relative paths are relative to its
    folder. Raises ConfigError."""
    file = Path(path)
    try:
        fileset = parse_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"datasets: cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"datasets: {path} is not valid JSON: {error}") from None
    if not isinstance(fileset, dict) or not fileset:
        raise ConfigError(f'datasets: {path} is not a fileset: {{"name": {{"files": […]}}, …}}')
    datasets = [_dataset(path, name, entry) for name, entry in fileset.items()]
    return all_described(
        datasets, lambda problems: ConfigError([f"{path}: {problem}" for problem in problems])
    )


def _dataset(path: str, name: str, entry: Any) -> dict[str, Any]:
    described = entry if isinstance(entry, Mapping) and "files" in entry else {"files": entry}
    files = described["files"]
    files = [files] if isinstance(files, str) else files
    trees = set(_trees(described, files))
    is_list = isinstance(files, Mapping | list) and all(isinstance(file, str) for file in files)
    if not is_list or len(trees) > 1:
        raise ConfigError(f'datasets: {path}: "{name}" has no list of files of one tree')
    return {
        "name": name,
        "files": [anchored(file, Path(path).parent) for file in files],
        "metadata": _metadata(f'datasets: {path}: "{name}"', described),
        "tree": trees.pop() if trees else None,
    }


def _metadata(place: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of a dataset, those outside its metadata included."""
    given = described.get("metadata") or {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"{place}: metadata has to be a table of names and values")
    described_keys = {key: value for key, value in described.items() if key not in _NO_METADATA}
    for key in sorted(described_keys.keys() & given.keys()):
        if described_keys[key] != given[key]:
            raise ConfigError(f'{place}: "{key}" is another in metadata; only one can be meant')
    return {**described_keys, **given}


def _trees(described: Mapping[str, Any], files: Any) -> Iterator[str]:
    """Names of trees, which a fileset has with each file, or for all of them."""
    of_files = files.values() if isinstance(files, Mapping) else ()
    of_all = [described[key] for key in _TREES if key in described]
    for value in (*of_files, *of_all):
        tree = value.get("object_path") if isinstance(value, Mapping) else value
        if isinstance(tree, str):
            yield tree
