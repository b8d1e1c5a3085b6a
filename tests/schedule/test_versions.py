"""Which product a module means by a column that others replace or vary."""

from __future__ import annotations

from collections.abc import Iterator

from forkrun.schedule.variations import Variations, Wiring
from forkrun.schedule.versions import Declared, Versions


def scaled() -> Versions:
    """Jet_pt is scaled, varied, then smeared."""
    return Versions(
        [
            Declared("before"),
            Declared("scale", ["Jet_pt"]),
            Declared("between"),
            Declared("jes_up", ["Jet_pt"], only="jes_up"),
            Declared("smear", ["Jet_pt"]),
            Declared("after"),
        ]
    )


def test_a_module_sees_the_column_as_the_last_one_before_it_has_made_it() -> None:
    versions = scaled()
    seen = {label: versions.seen(label, "Jet_pt").nominal.product for label in versions.modules}
    assert seen == {
        "before": "Jet_pt@input",
        "scale": "Jet_pt@input",
        "between": "Jet_pt@after-scale",
        "jes_up": "Jet_pt@after-scale",
        "smear": "Jet_pt@after-scale",
        "after": "Jet_pt",
    }
    assert versions.seen("after", "Jet_pt@input").product == "Jet_pt@input"
    assert versions.seen("after", "Jet_eta@input").product == "Jet_eta"
    assert versions.made("smear", "Jet_pt") == "Jet_pt"
    assert versions.made("before", "Jet_pt") == "Jet_pt@input"


def test_the_first_version_keeps_its_name_where_a_column_is_only_varied() -> None:
    versions = Versions([Declared("up", ["Jet_pt"], only="jes_up"), Declared("after")])
    assert versions.replaced == []
    assert versions.first["Jet_pt"] == "Jet_pt"
    assert versions.seen("after", "Jet_pt").product == "Jet_pt@after-up"
    assert versions.seen("after", "Jet_pt").nominal.product == "Jet_pt"


def varied() -> Variations:
    """smear and ht follow Jet_pt; met does not; the cut follows ht."""
    versions = Versions([*scaled().modules.values(), Declared("ht"), Declared("met"),
                         Declared("cut"), Declared("loose"), Declared("ht_plot"),
                         Declared("met_plot")])  # fmt: skip
    producers = {"scale": "Jet_pt", "jes_up": "Jet_pt", "smear": "Jet_pt"}
    wirings = {label: Wiring("producer", [name], [name]) for label, name in producers.items()}
    wirings |= {
        "ht": Wiring("producer", ["Jet_pt"], ["ht"]),
        "met": Wiring("producer", ["MET_pt"], ["met"]),
        "cut": Wiring("filter", ["ht"]),
        "loose": Wiring("filter", ["met"]),
        "ht_plot": Wiring("analyzer", ["ht"]),
        "met_plot": Wiring("analyzer", ["met"]),
    }
    paths = {"all": ["loose", "met_plot"], "tight": ["loose", "cut", "met_plot"], "no": ["cut"]}
    return Variations(versions, wirings, {**paths, "ht": ["ht_plot", "loose"]})


def test_what_depends_on_a_varied_column_runs_again_and_nothing_else() -> None:
    calls = {call.label: call for call in varied().calls}
    again = [label for label in calls if "@" in label]
    assert again == [
        "smear@jes_up", "ht@jes_up", "cut@jes_up", "ht_plot@jes_up", "met_plot@jes_up"
    ]  # fmt: skip
    assert calls["smear"].sees == {"Jet_pt": "Jet_pt@after-scale"}
    assert calls["smear@jes_up"].sees == {"Jet_pt": "Jet_pt@after-jes_up"}
    assert calls["smear@jes_up"].makes == {"Jet_pt": "Jet_pt@jes_up"}
    assert calls["ht@jes_up"].makes == {"ht": "ht@jes_up"}
    assert calls["met_plot@jes_up"].sees == {}


def test_an_analyzer_behind_a_filter_that_varies_runs_on_paths_of_the_variation() -> None:
    assert varied().varied_paths() == {
        "all@jes_up": ["loose", "met_plot@jes_up"],
        "tight@jes_up": ["loose", "cut@jes_up", "met_plot@jes_up"],
        "ht@jes_up": ["ht_plot@jes_up"],
    }


class Counted(tuple[str, ...]):
    """Names, and how often they have been gone through."""

    n_iterations = 0

    def __iter__(self) -> Iterator[str]:
        self.n_iterations += 1
        return super().__iter__()


def test_the_variations_of_a_job_are_found_once_for_any_number_of_paths() -> None:
    names = Counted(("up", "down"))
    versions = Versions([Declared("scale", ["Jet_pt"], names), Declared("select")])
    wirings = {"scale": Wiring("producer", ["Jet_pt"], ["Jet_pt"]), "select": Wiring("filter", [])}
    paths = {f"path{number}": ["select"] for number in range(100)}
    variations = Variations(versions, wirings, paths)
    n_before = names.n_iterations
    assert list(variations.of_path.values()) == [[]] * 100
    assert versions.variations == ["up", "down"]
    assert names.n_iterations == n_before == 1
