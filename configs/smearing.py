"""Random numbers in modules: the Python twins of cpp/forkrun/modules/smearing.cpp.

The same label gives the same numbers, in Python and in C++, bit for bit."""

import forkrun


class MuonSmearing(forkrun.Producer):
    """SmearedMuon_pt : (n_events, n) float32 [GeV], Muon_pt times a normal number of mean 1 and
    standard deviation `resolution`."""

    consumes = ("Muon_pt",)
    produces = {"SmearedMuon_pt": "float32[]"}

    def __init__(self, resolution: float = 0.02) -> None:
        self.resolution = resolution

    def produce(self, events):
        pt = events["Muon_pt"]
        return {"SmearedMuon_pt": pt * events.random.normal(1.0, self.resolution, like=pt)}


class BootstrapWeights(forkrun.Producer):
    """BootstrapWeight : (n_events, n) int32, Poisson numbers of mean 1: the weights of the event in
    n samples drawn from this one with replacement."""

    consumes = ()
    produces = {"BootstrapWeight": "int32[]"}

    def __init__(self, n: int = 20) -> None:
        self.n = n

    def produce(self, events):
        return {"BootstrapWeight": events.random.poisson(1.0, size=self.n)}
