"""Modules and conditions of reconstruction.toml. The computation is a sketch; sleeping takes the
rest of the time that a real one would."""

import time

import awkward as ak
import hist
import numpy as np

import forkrun

N_CELLS = (256, 256, 256)
"""Cells of the field map in x, y and z."""
N_SENSORS = 1_048_576


def field_map():
    """A condition: the magnetic field [T] by cell; (256, 256, 256, 3) float32, 200 MB."""
    x, y, z = (np.linspace(-1, 1, n, dtype=np.float32) for n in N_CELLS)
    field = np.empty((*N_CELLS, 3), dtype=np.float32)
    field[..., 0] = 0.1 * x[:, None, None] * z
    field[..., 1] = 0.1 * y[:, None] * z
    field[..., 2] = 3.8 - 0.4 * z**2
    return field


def alignment(seed: int):
    """A condition by interval: shifts and rotations of sensors; (1048576, 12) float32, 50 MB."""
    return np.random.default_rng(seed).normal(0, 1e-4, (N_SENSORS, 12)).astype(np.float32)


class Step(forkrun.Producer):
    """A step of the reconstruction that takes `seconds` per event, with a log-normal spread of
    `spread` times the mean."""

    def __init__(self, seconds: float, spread: float) -> None:
        self.seconds = seconds
        self.variance = np.log1p(spread**2)

    def wait(self, events):
        times = events.random.normal(-self.variance / 2, np.sqrt(self.variance))
        time.sleep(self.seconds * float(np.sum(np.exp(times))))


class Tracks(Step):
    """Track_bending : (n_events, n) float32 [T], the mean field across each muon's way.
    Track_shift : (n_events, n) float32, the mean alignment of the sensors that it crosses."""

    conditions = ("field", "alignment")

    def produce(self, events):
        self.wait(events)
        eta, phi = events["Muon_eta"], events["Muon_phi"]
        bending = np.mean(self.field_along(ak.to_numpy(ak.flatten(eta))), axis=-1)
        sensors = (np.abs(ak.to_numpy(ak.flatten(phi))) * 1e5).astype(int) % N_SENSORS
        shift = np.mean(self.conditions["alignment"][sensors], axis=-1, dtype=np.float32)
        n = ak.num(eta)
        return {"Track_bending": ak.unflatten(bending, n), "Track_shift": ak.unflatten(shift, n)}

    def field_along(self, eta):
        """Field along the beam at 100 steps of the way from the centre; (n, 100) float32 [T]."""
        steps = np.linspace(0, 1, 100)
        z = (np.tanh(eta)[:, None] * steps + 1) / 2 * (N_CELLS[2] - 1)
        x = ((1 - np.tanh(eta) ** 2)[:, None] * steps + 1) / 2 * (N_CELLS[0] - 1)
        return self.conditions["field"][x.astype(int), N_CELLS[1] // 2, z.astype(int), 2]


class Energy(Step):
    """Cluster_energy : (n_events, n) float32 [GeV], of the jets."""

    def produce(self, events):
        self.wait(events)
        return {"Cluster_energy": events["Jet_pt"] * np.cosh(events["Jet_eta"])}


class Plots(forkrun.Analyzer):
    """Histogram of the bending field."""

    def __init__(self) -> None:
        self.bending = self.book("bending", hist.Hist(hist.axis.Regular(50, 3, 4, label="B [T]")))

    def analyze(self, events):
        self.bending.fill(ak.flatten(events["Track_bending"]))
