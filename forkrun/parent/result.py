"""Result of a job."""

from __future__ import annotations

import json
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from msgspec import Struct

from forkrun.base.arguments import check_path, check_text, check_texts
from forkrun.base.destinations import Destination, datasets_in, destinations_in
from forkrun.base.nearest import suggestion
from forkrun.base.quantities import plural
from forkrun.base.regular_file import read_regular
from forkrun.errors import ConfigError, InputError
from forkrun.formats import format_named
from forkrun.histograms.accumulators.finished import Accumulators
from forkrun.histograms.finished import Histograms
from forkrun.monitoring.report.notebook import Cutflows, Datasets, summary_html
from forkrun.rundir.directory import RunDirectory
from forkrun.rundir.nodes import read_commits


class Result(Struct, frozen=True, dict=True):
    """`outputs`: by label the merged file, or the folder of files by lumi or by dataset, of which
    `output(label, dataset)` returns one; `histogram_file`: of the booked histograms, None if
    nothing was booked; `report`: content of report.json, empty if missing."""

    run_directory: Path
    outputs: dict[str, Path]
    histogram_file: Path | None
    report: dict[str, Any]

    @cached_property
    def histograms(self) -> Histograms:
        """The booked histograms as `hist.Hist`, by name."""
        return Histograms(self.histogram_file)

    def plot(self, name: str, **look: Any) -> Any:
        """Draws a histogram with one or two axes: simulation stacked by dataset, its uncertainty
        with all variations as a band, data as points, and their ratio, as available. `look`: stack,
        ratio, log, overflow, style ("cms", "atlas", "lhcb", "alice" or "root"), text, labels,
        order: docs/histograms.md. Returns a matplotlib Figure, which notebooks show. Raises
        ConfigError if mplhep is not installed, and for unknown names and arguments."""
        check_text("result.plot(…)", "name", name)
        if name not in self.histograms:
            raise ConfigError(
                f'result.plot(…): unknown histogram "{name}"{suggestion(name, self.histograms)}'
            )
        try:
            from forkrun.histograms.final.plot import Look, make_plot  # matplotlib
        except ModuleNotFoundError as error:
            raise ConfigError(f"plots need {error.name}: pip install 'forkrun[plot]'") from None
        given = {"luminosity": self._config.get("job", {}).get("luminosity"), **look}
        try:
            checked = Look(**given)
        except TypeError as error:  # an unknown argument
            raise ConfigError(f"result.plot(…): {error}") from None
        return make_plot(self.histograms[name], name, self.names_of_data, checked)

    @cached_property
    def _config(self) -> dict[str, Any]:
        return _read(RunDirectory(self.run_directory).config)

    @property
    def names_of_data(self) -> list[str]:
        """Names of the datasets that are data, if the job has several datasets."""
        return [each.name for each in datasets_in(self._config).values() if each.is_data]

    @property
    def n_events_left_out(self) -> int:
        """Events left out because they crash the child (recovery.on_bad_event = "skip")."""
        if "events" in self.report:
            return int(self.report["events"]["n_events_left_out"])
        commits = read_commits(RunDirectory(self.run_directory))
        return sum(len(commit.skipped) for commit in commits)

    @cached_property
    def _merged(self) -> dict[str, Path]:
        """Existing merged files by name: LABEL, or LABEL/DATASET."""
        files = _files(RunDirectory(self.run_directory))
        return {each.name: file for each, file in files.items() if file.exists()}

    @property
    def files(self) -> list[Path]:
        """All files written by the job for its user."""
        accumulators = RunDirectory(self.run_directory).accumulators
        others = [self.histogram_file, accumulators if accumulators.exists() else None]
        merged = list(self._merged.values())
        parquet = [RunDirectory.parquet_of(file) for file in merged]
        made = [file for file in parquet if file.exists()]
        return [*merged, *made, *filter(None, others)]

    def output(self, label: str, dataset: str | None = None) -> Path:
        """Merged file of an output, or of one dataset of it, or folder of its files by lumi. Raises
        ConfigError, which lists the known names."""
        call = "result.output(…)"
        check_text(call, "label", label)
        check_texts(call, dataset=dataset)
        name = label if dataset is None else f"{label}/{dataset}"
        found = {**self.outputs, **self._merged}
        if name not in found:
            known = ", ".join(f'"{each}"' for each in found) or "none"
            raise ConfigError(
                f'{call}: unknown output "{name}"{suggestion(name, list(found))}; it has {known}'
            )
        return found[name]

    def lumis(self, dataset: str | None = None) -> Path:
        """JSON file of the processed lumis, in the format of luminosity tools; of one dataset if
        the job has several. Raises ConfigError, which lists the known names."""
        check_texts("result.lumis(…)", dataset=dataset)
        folder = RunDirectory(self.run_directory)
        names = [name for name, _ in datasets_in(self._config).values()]
        if (dataset or "") not in (names or [""]):
            known = ", ".join(f'"{each}"' for each in names) or "none"
            raise ConfigError(
                f"result.lumis(…): unknown dataset {json.dumps(dataset)}"
                f"{suggestion(dataset or '', names)}; lumis are apart of: {known}"
            )
        return folder.lumis("processed", dataset or "")

    @property
    def accumulators(self) -> Accumulators:
        """Values accumulated by analyzers over the whole job, by label of the module and name; sets
        are sorted lists, objects their `to_json()`. With several datasets the sum, and in
        `datasets` each by name."""
        content = _read(RunDirectory(self.run_directory).accumulators)
        return Accumulators.of_file(content, is_by_dataset=bool(datasets_in(self._config)))

    @property
    def datasets(self) -> Datasets:
        """Content of report.json for each dataset, by name, if the job has several: files, events,
        lumis, sum of weights, events in each output; `print` and notebooks show a table."""
        return Datasets({each["name"]: each for each in self.report.get("datasets", ())})

    @property
    def cutflow(self) -> Cutflows:
        """Events after each filter, by path: for each filter, and for the start (`after` is ""), as
        in report.json: `n_events`, efficiencies, sums of weights; `print` and notebooks show a
        table, `records()` and `to_pandas()` return one; with several datasets the sum, if
        meaningful, and in `datasets` each by name. Empty if not counted."""
        return Cutflows.of(self.report.get("cutflow", ()))

    def __repr__(self) -> str:
        return f"<Result of {self._summary}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        listed = "".join(f"<li><code>{escape(str(file))}</code></li>" for file in self.files)
        page = RunDirectory(self.run_directory).report_page
        head = summary_html(self.report, self._summary, page)
        return f"{head}<ul>{listed}</ul>" + self.datasets._repr_html_() + self.cutflow._repr_html_()

    @property
    def _summary(self) -> str:
        """One-line summary."""
        job, events = self.report.get("job", {}), self.report.get("events", {})
        if not job:
            return f"{self.run_directory}: without a report"
        n_events = plural(events["n_events_read"], "event")
        warnings = self.report.get("warnings", ())
        more = f", {plural(len(warnings), 'warning')}" if warnings else ""
        return f"{self.run_directory}: {job['outcome']}, {n_events}{more}"

    @classmethod
    def read(cls, run_directory: str | Path) -> Result:
        """Reads the result of a finished run. Raises InputError if that is not a run directory."""
        folder = RunDirectory(check_path("Result.read(…)", "run_directory", run_directory))
        if not folder.config.exists():
            raise InputError(f"{folder.path}: no job has run here: it has no {folder.config.name}")
        outputs = {}
        for destination, file in _files(folder).items():
            outputs[destination.label] = file if destination.dataset is None else file.parent
        return cls(
            folder.path,
            {label: file for label, file in outputs.items() if file.exists()},
            folder.histograms if folder.histograms.exists() else None,
            _read(folder.report_json),
        )


def _files(folder: RunDirectory) -> dict[Destination, Path]:
    """Merged file of each destination, or its folder of files by lumi; existing or not."""
    config = _read(folder.config)
    described = {output["label"]: output for output in config.get("outputs", [])}

    def file(destination: Destination) -> Path:
        output = described[destination.label]
        suffix = format_named(output.get("format") or "ttree").suffix
        return folder.merged(destination.name, output.get("per_lumi", False), suffix)

    return {each: file(each) for each in destinations_in(config)}


def _read(path: Path) -> dict[str, Any]:
    """Object in a JSON file; empty if the file is missing or damaged: the outputs matter more."""
    try:
        value = json.loads(read_regular(path))
    except (FileNotFoundError, ValueError):
        return {}
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    return value if isinstance(value, dict) else {}
