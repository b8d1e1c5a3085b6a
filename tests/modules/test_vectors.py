"""Sums of vectors: Cartesian, in double precision, whatever form the arrays have."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np
import pytest

from forkrun.modules.objects import vectors

LISTS = {
    "pt": [[30.0, 20.0, 10.0], [], [5.0]],
    "eta": [[0.5, -1.0, 2.0], [], [0.0]],
    "phi": [[0.1, 3.0, -2.0], [], [1.0]],
    "mass": [[0.1, 0.2, 4.0], [], [1.0]],
}
COLUMNS = {name: ak.values_astype(ak.Array(lists), np.float32) for name, lists in LISTS.items()}


@pytest.fixture
def jets() -> Any:
    vectors.register("Momentum4D")
    return ak.zip(COLUMNS, with_name="Momentum4D")


def mass_of(*objects: dict[str, float]) -> float:
    """In double precision."""
    p = {name: np.array([each[name] for each in objects], np.float64) for name in COLUMNS}
    px, py, pz = (
        float(np.sum(p["pt"] * f)) for f in (np.cos(p["phi"]), np.sin(p["phi"]), np.sinh(p["eta"]))
    )
    energy = float(np.sum(np.sqrt((p["pt"] * np.cosh(p["eta"])) ** 2 + p["mass"] ** 2)))
    return float(np.sqrt(energy**2 - px**2 - py**2 - pz**2))


def test_combinations_are_added_in_double_precision(jets: Any) -> None:
    first, second, third = ak.unzip(ak.combinations(jets, 3))
    together = first + second + third
    assert together.fields == ["x", "y", "z", "t"]
    expected = mass_of(*ak.to_list(ak.zip(COLUMNS))[0])
    assert together.mass.tolist() == [[pytest.approx(expected, rel=1e-12)], [], []]
    one, two = ak.unzip(ak.combinations(jets, 2))
    assert (one - one).pt.tolist() == [[0.0] * 3, [], []]
    pair = mass_of(*ak.to_list(ak.zip(COLUMNS))[0][:2])
    assert (one + two).mass[0, 0] == pytest.approx(pair, rel=1e-12)


def test_a_few_of_many_vectors_are_added(jets: Any) -> None:
    has_any = jets[ak.num(jets) > 0]
    twice = has_any[:, 0] + has_any[:, 0]
    assert twice.mass.tolist() == pytest.approx([0.2, 2.0], rel=1e-6)
    assert (has_any[:1, :1] + has_any[:1, :1]).pt.tolist() == [[pytest.approx(60.0)]]
    assert (jets[0, 0] + jets[0, 0]).mass == pytest.approx(0.2, rel=1e-6)
    assert (jets[0, 0] + jets[0]).pt[0] == pytest.approx(60.0)


def test_missing_vectors_give_missing_sums(jets: Any) -> None:
    leading = ak.firsts(jets)
    assert ak.is_none(leading + leading).tolist() == [False, True, False]
    masked = ak.mask(jets, jets.pt > 15)
    assert ak.is_none((masked + jets).pt, axis=1).tolist() == [[False, False, True], [], [True]]


def test_vectors_with_missing_coordinates_give_missing_sums(jets: Any) -> None:
    pt = ak.Array([30.0, None])
    some = ak.zip({"pt": pt, "eta": [0.0, 0.0], "phi": [0.0, 1.0], "mass": [1.0, 1.0]},
                  with_name="Momentum4D")  # fmt: skip
    assert (some + some).pt.tolist() == [60.0, None]
    assert (some[0] + jets[0]).pt[0] == pytest.approx(60.0 * np.cos(0.05))


def test_vectors_in_a_plane_stay_in_it() -> None:
    vectors.register("Momentum2D")
    met = ak.zip({"pt": [1.0, 2.0], "phi": [1.0, 2.0]}, with_name="Momentum2D")
    assert (met + met).fields == ["x", "y"]
    assert (met + met).pt.tolist() == pytest.approx([2.0, 4.0])
