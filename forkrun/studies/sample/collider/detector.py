"""Particles of e+e- → ZH and ZZ at 250 GeV, the first Z into two muons, and the detector's response
to them: hits, tracks, clusters and reconstructed particles, as collections of LCIO's newest
version."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from forkrun.studies.sample.collider.encoding import NOBODY, Objects

ENERGY_GEV, MASS_Z, WIDTH_Z, MASS_H = 250.0, 91.19, 2.5, 125.0
MUON, HADRON = 13, 211
_N_HADRONS = 40
_SHARE_OF_SIGNAL = 0.7


class Particles(Struct, frozen=True):
    """Particles of many events, one after the other. `event`, `place`: (n,) event of each, and its
    position in it; `four`: (n, 4) px, py, pz, E [GeV]; `mother`: (n,) position of its mother, -1
    for none; `is_stable`: (n,)."""

    event: Any
    place: Any
    pdg: Any
    four: Any
    mother: Any
    is_stable: Any

    @property
    def charge(self) -> Any:
        """(n,) charges in units of the positron's."""
        charges = {11: -1, 13: -1, -13: 1, 211: 1, -211: -1, 5: -1 / 3, -5: 1 / 3, -11: 1}
        return np.array([charges.get(int(pdg), 0) for pdg in self.pdg], np.float32)


def particles_of(n_events: int, random: np.random.Generator) -> Particles:
    """Beams, Z, H (or Z), two muons, two quarks, and their decay products."""
    is_signal = random.random(n_events) < _SHARE_OF_SIGNAL
    mass_z = np.clip(MASS_Z + WIDTH_Z / 2 * random.standard_cauchy(n_events), 80, 100)
    mass_x = np.where(is_signal, MASS_H, np.clip(random.normal(MASS_Z, WIDTH_Z, n_events), 80, 100))
    z, x = _two_body(np.full(n_events, ENERGY_GEV), mass_z, mass_x, random)
    muons = [_boosted(each, z) for each in _two_body(mass_z, 0.1057, 0.1057, random)]
    quarks = [_boosted(each, x) for each in _two_body(mass_x, 4.2, 4.2, random)]
    beams = np.zeros((2, n_events, 4))
    beams[:, :, 2:] = [[[ENERGY_GEV / 2] * 2], [[-ENERGY_GEV / 2, ENERGY_GEV / 2]]]
    hard = np.stack([*beams, z, x, *muons, *quarks], axis=1)
    hadrons, event, of_quark = _hadrons(np.stack(quarks, axis=1), random)
    n_hard = hard.shape[1]
    pdg = np.tile([11, -11, 23, 25, 13, -13, 5, -5], (n_events, 1))
    pdg[~is_signal, 3] = 23
    kinds = random.choice([211, -211, 22], len(event), p=[0.32, 0.32, 0.36])
    owner = np.concatenate([np.repeat(np.arange(n_events), n_hard), event])
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner, minlength=n_events)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    mothers = np.tile([-1, -1, 0, 0, 2, 2, 3, 3], (n_events, 1)).ravel()
    stable = np.tile([False] * 4 + [True] * 2 + [False] * 2, (n_events, 1)).ravel()
    return Particles(
        owner[order],
        place,
        np.concatenate([pdg.ravel(), kinds])[order],
        np.concatenate([hard.reshape(-1, 4), hadrons])[order],
        np.concatenate([mothers, 6 + of_quark])[order],
        np.concatenate([stable, np.ones(len(event), np.bool_)])[order],
    )


def _two_body(mass: Any, one: Any, other: Any, random: np.random.Generator) -> tuple[Any, Any]:
    """Four-momenta of two particles from the isotropic decay of a third at rest."""
    n = len(mass)
    sums, differences = mass**2 - (one + other) ** 2, mass**2 - (one - other) ** 2
    momentum = np.sqrt(np.maximum(sums * differences, 0)) / (2 * mass)
    three = momentum[:, None] * _directions(n, random)
    energies = [np.sqrt(momentum**2 + m**2) for m in (one, other)]
    return (
        np.concatenate([three, energies[0][:, None]], axis=1),
        np.concatenate([-three, energies[1][:, None]], axis=1),
    )


def _directions(n: int, random: np.random.Generator) -> Any:
    cosine, phi = random.uniform(-1, 1, n), random.uniform(-np.pi, np.pi, n)
    sine = np.sqrt(1 - cosine**2)
    return np.stack([sine * np.cos(phi), sine * np.sin(phi), cosine], axis=1)


def _boosted(four: Any, frame: Any) -> Any:
    """`four` boosted from the rest frame of a particle to the frame in which the particle has the
    momentum `frame`."""
    mass = np.sqrt(np.maximum(frame[:, 3] ** 2 - (frame[:, :3] ** 2).sum(1), 1e-9))
    along = (four[:, :3] * frame[:, :3]).sum(1)
    energy = (four[:, 3] * frame[:, 3] + along) / mass
    factor = (four[:, 3] + energy) / (frame[:, 3] + mass)
    return np.concatenate([four[:, :3] + factor[:, None] * frame[:, :3], energy[:, None]], axis=1)


def _hadrons(quarks: Any, random: np.random.Generator) -> tuple[Any, Any, Any]:
    """Momenta of the hadrons from quarks, (n, 2, 4), with the event of each, and which of the two
    quarks."""
    n_events = len(quarks)
    counts = random.poisson(_N_HADRONS / 2, (n_events, 2)) + 1
    owner = np.repeat(np.arange(2 * n_events), counts.ravel())
    shares = random.exponential(1, len(owner))
    shares /= np.bincount(owner, shares)[owner]
    of = quarks.reshape(-1, 4)[owner]
    momenta = shares[:, None] * of[:, :3] + random.normal(0, 0.35, (len(owner), 3))
    energy = np.sqrt((momenta**2).sum(1) + 0.1396**2)
    return np.concatenate([momenta, energy[:, None]], axis=1), owner // 2, owner % 2


_ID1, _LONG, _STEP, _MOMENTUM, _HITS, _WEIGHTS = (
    1 << 29,
    1 << 31,
    1 << 28,
    1 << 30,
    1 << 31,
    1 << 31,
)
_CELLS = {"CellIDEncoding": ["system:5,side:-2,layer:9,module:8,sensor:8,x:32:-16,y:-16"]}
_ALGORITHMS: dict[str, list[Any]] = {
    "PIDAlgorithmTypeName": ["LikelihoodPID"],
    "PIDAlgorithmTypeID": [7],
    "ParameterNames_LikelihoodPID": ["muonLikelihood"],
}
_RADII_MM = {"VXD": 15.0, "TPC": 400.0, "ECal": 1850.0, "HCal": 2100.0}


class Collection(Struct, frozen=True):
    """A collection in many events. `values`: its parameters."""

    name: str
    kind: str
    flag: int
    objects: Objects
    values: dict[str, list[Any]] = {}


class _Origins(Struct, frozen=True):
    """Origin of the objects of a kind. `of`: (n,) number among all particles; `event`: (n,); `tag`:
    (n,) number used by pointers to them."""

    of: Any
    event: Any
    tag: Any


def collections_of(
    particles: Particles, n_events: int, random: np.random.Generator
) -> list[Collection]:
    """All collections of the events."""
    return _Detector(particles, n_events, random).collections()


class _Detector:
    def __init__(self, particles: Particles, n_events: int, random: np.random.Generator) -> None:
        self.particles, self.random, self.n_events = particles, random, n_events
        self._n_tags = np.zeros(n_events, np.int64)
        self.charge = particles.charge
        self.momentum = np.linalg.norm(particles.four[:, :3], axis=1)
        everything = np.arange(len(particles.event))
        self.generated = self._numbered(everything)
        self.stable = everything[particles.is_stable]
        self.charged = self.stable[self.charge[self.stable] != 0]

    def collections(self) -> list[Collection]:
        made = [Collection("MCParticle", "MCParticle", 0, self._generated())]
        tracker = [self._tracker_hits(name, n) for name, n in (("VXD", 1.4), ("TPC", 3.6))]
        calorimeter = [
            self._calorimeter_hits(name, n) for name, n in (("ECal", 4.8), ("HCal", 3.8))
        ]
        made += [each for each, *_ in tracker] + [each for each, *_ in calorimeter]
        digits = [
            self._digits(name, hits)
            for name, (_, hits, _) in zip(("ECal", "HCal"), calorimeter, strict=True)
        ]
        planes, plane_hits = self._plane_hits(tracker[0][1])
        points, point_hits = self._space_points(tracker[1][1])
        made += [planes, points, *(each for each, _ in digits)]
        tracks, of_tracks = self._tracks([plane_hits, point_hits])
        clusters, of_clusters = self._clusters([hits for _, hits in digits])
        found, of_found = self._reconstructed(of_tracks, of_clusters)
        made += [tracks, clusters, found]
        made += [self._links([of_found, of_tracks, of_clusters]), self._vertices()]
        return made

    def _numbered(self, of: Any) -> _Origins:
        """Numbers new objects made from these particles."""
        event = self.particles.event[of]
        counts = np.bincount(event, minlength=self.n_events)
        place = np.arange(len(of)) - (np.cumsum(counts) - counts)[event]
        tag = self._n_tags[event] + place + 1
        self._n_tags += counts
        return _Origins(of, event, tag)

    def _generated(self) -> Objects:
        p, tags = self.particles, self.generated.tag
        with_mother = np.flatnonzero(p.mother >= 0)
        mass = np.sqrt(np.maximum(p.four[:, 3] ** 2 - self.momentum**2, 0))
        ends = p.four[:, :3] / np.maximum(self.momentum, 1e-3)[:, None] * 2000
        of_mother = p.mother[with_mother] - p.place[with_mother] + with_mother
        objects = Objects(p.event).ints(tags)
        objects.lists(with_mother, (">i4", tags[of_mother]))
        objects.ints(p.pdg, np.where(p.is_stable, 1, 2), (1 << 31) | (p.is_stable << 24))
        objects.doubles(0, 0, 0).floats(0, p.four[:, :3], mass, self.charge)
        objects.doubles(np.where(p.is_stable[:, None], ends, 0)).floats(0, 0, 0)
        return objects.floats(0, 0, 0).ints(0, 0)

    def _near(self, of: Any, radius: float, spread: float) -> Any:
        """(n, 3) positions [mm] along the particles' paths."""
        way = self.particles.four[of, :3] / np.maximum(self.momentum[of], 1e-3)[:, None]
        radii = radius * self.random.uniform(1, 1.6, len(of))
        return way * radii[:, None] + self.random.normal(0, spread, (len(of), 3))

    def _repeated(self, of: Any, mean: float) -> Any:
        return np.repeat(of, self.random.poisson(mean, len(of)))

    def _cells(self, n: int) -> tuple[Any, Any]:
        return self.random.integers(1, 1 << 20, n), self.random.integers(0, 1 << 12, n) << 16

    def _tracker_hits(self, name: str, mean: float) -> tuple[Collection, _Origins, Any]:
        hits = self._numbered(self._repeated(self.charged, mean))
        n = len(hits.of)
        place = self._near(hits.of, _RADII_MM[name], 5)
        objects = Objects(hits.event).ints(*self._cells(n)).doubles(place)
        objects.floats(self.random.gamma(2, 1e-6, n), self.random.uniform(0, 10, n))
        objects.ints(self.generated.tag[hits.of]).floats(self.particles.four[hits.of, :3], 0.3)
        objects.ints(0, NOBODY)
        flag = _ID1 | _MOMENTUM
        return Collection(f"{name}Collection", "SimTrackerHit", flag, objects, _CELLS), hits, place

    def _calorimeter_hits(self, name: str, mean: float) -> tuple[Collection, _Origins, Any]:
        hits = self._numbered(self._repeated(self.stable, mean))
        n = len(hits.of)
        energy = self.random.gamma(1.5, 0.002, n)
        objects = Objects(hits.event).ints(*self._cells(n)).floats(energy)
        objects.floats(self._near(hits.of, _RADII_MM[name], 50))
        owner = np.repeat(np.arange(n), self.random.integers(1, 3, n))
        share = energy[owner] / np.bincount(owner)[owner]
        times = self.random.gamma(2, 4, len(owner))
        objects.lists(
            owner, (">i4", self.generated.tag[hits.of[owner]]), (">f4", share), (">f4", times)
        )
        objects.ints(hits.tag)
        return (
            Collection(f"{name}Collection", "SimCalorimeterHit", _ID1 | _LONG, objects, _CELLS),
            hits,
            energy,
        )

    def _digits(self, name: str, of: _Origins) -> tuple[Collection, _Origins]:
        hits = self._numbered(of.of)
        n = len(hits.of)
        objects = Objects(hits.event).ints(*self._cells(n)).floats(self.random.gamma(1.5, 0.06, n))
        objects.floats(self.random.gamma(2, 4, n), self._near(hits.of, _RADII_MM[name], 50))
        objects.ints(0, of.tag, hits.tag)
        flag = _LONG | _ID1 | 1 << 27
        return Collection(f"{name}Hits", "CalorimeterHit", flag, objects, _CELLS), hits

    def _plane_hits(self, of: _Origins) -> tuple[Collection, _Origins]:
        hits = self._numbered(of.of)
        n = len(hits.of)
        objects = Objects(hits.event).ints(self._cells(n)[0], 0)
        objects.doubles(self._near(hits.of, _RADII_MM["VXD"], 5)).floats(
            1.5, self.random.uniform(0, 3, n), 1.5, 0
        )
        objects.floats(0.003, 0.003, self.random.gamma(2, 1e-6, n), 0, 0).ints(0, 0, hits.tag)
        return Collection("VXDHits", "TrackerHitPlane", 0, objects, _CELLS), hits

    def _space_points(self, of: _Origins) -> tuple[Collection, _Origins]:
        hits = self._numbered(of.of)
        n = len(hits.of)
        objects = Objects(hits.event).ints(self._cells(n)[0], 0)
        objects.doubles(self._near(hits.of, _RADII_MM["TPC"], 5))
        objects.floats(*self.random.gamma(2, 0.01, (2, n)), 0, 0, 0, self.random.gamma(2, 0.1, n))
        objects.floats(self.random.gamma(2, 1e-6, n), 0, 0).ints(0, 0, hits.tag)
        return Collection("TPCHits", "TrackerHit", 0, objects, _CELLS), hits

    def _owned(self, owners: _Origins, hits: list[_Origins]) -> tuple[Any, Any]:
        """Owners and numbers of the hits: each owner has the hits of its particle."""
        place = np.full(len(self.particles.event), -1)
        place[owners.of] = np.arange(len(owners.of))
        owner = place[np.concatenate([each.of for each in hits])]
        tags = np.concatenate([each.tag for each in hits])[owner >= 0]
        order = np.argsort(owner[owner >= 0], kind="stable")
        return owner[owner >= 0][order], tags[order]

    def _tracks(self, hits: list[_Origins]) -> tuple[Collection, _Origins]:
        tracks = self._numbered(self.charged)
        n = len(tracks.of)
        four, normal = self.particles.four[tracks.of], self.random.normal
        pt = np.hypot(four[:, 0], four[:, 1])
        state = Objects(tracks.event).ints(1)
        bend = 1e-3 * self.charge[tracks.of] / pt
        phi = np.arctan2(four[:, 1], four[:, 0])
        helix = [normal(0, 0.01, n), phi, bend, normal(0, 0.1, n), four[:, 2] / pt]
        values = np.stack(helix, axis=1)
        each = np.repeat(np.arange(n), 2)
        states = np.concatenate(
            [values, np.abs(normal(0, 1e-4, (n, 15))), np.zeros((n, 3))], axis=1
        )
        state.lists(each, (">i4", np.tile([1, 4], n)), (">f4", states[each]))
        state.floats(self.random.chisquare(20, n)).ints(20).floats(self.random.gamma(2, 1e-7, n), 0)
        state.ints(0).floats(15).ints(4, 5, 0, 120, 0).ints(0, 0)
        owner, tags = self._owned(tracks, hits)
        state.lists(owner, (">i4", tags)).ints(tracks.tag)
        return Collection("Tracks", "Track", _HITS, state), tracks

    def _clusters(self, hits: list[_Origins]) -> tuple[Collection, _Origins]:
        clusters = self._numbered(self.stable)
        n = len(clusters.of)
        energy = self._smeared_energy(clusters.of)
        objects = Objects(clusters.event).ints(1).floats(energy, 0.15 * np.sqrt(energy))
        objects.floats(self._near(clusters.of, 1850, 10), np.abs(self.random.normal(0, 1, (n, 6))))
        objects.floats(*self.random.uniform(0, np.pi, (2, n)), 0, 0, 0).ints(0, 0, 0)
        owner, tags = self._owned(clusters, hits)
        objects.lists(owner, (">i4", tags), (">f4", np.ones(len(tags))))
        objects.ints(2).floats(0.7 * energy, 0.3 * energy).ints(clusters.tag)
        return Collection("Clusters", "Cluster", _HITS, objects), clusters

    def _smeared_energy(self, of: Any) -> Any:
        energy = self.particles.four[of, 3]
        return np.maximum(energy + self.random.normal(0, 0.3, len(of)) * np.sqrt(energy), 0.01)

    def _reconstructed(self, tracks: _Origins, clusters: _Origins) -> tuple[Collection, _Origins]:
        p = self.particles
        found = self._numbered(self.stable)
        n, four = len(found.of), p.four[found.of]
        charge, momentum = self.charge[found.of], self.momentum[found.of]
        by_track = momentum * (1 + self.random.normal(0, 2e-5, n) * momentum)
        size = np.where(charge != 0, by_track, self._smeared_energy(found.of))
        three = four[:, :3] / np.maximum(momentum, 1e-3)[:, None] * size[:, None]
        mass = np.sqrt(np.maximum(four[:, 3] ** 2 - momentum**2, 0))
        energy = np.sqrt(size**2 + mass**2)
        is_muon = np.abs(p.pdg[found.of]) == MUON
        kind = np.where(charge == 0, 22, np.where(is_muon, -13 * charge, 211 * charge))
        objects = Objects(found.event).ints(kind).floats(three, energy)
        objects.floats(np.abs(self.random.normal(0, 1e-4, (n, 10))), mass, charge, 0, 0, 0)
        ids = self._numbered(found.of)
        objects.ints(1).floats(self.random.uniform(0.5, 1, n)).ints(0, kind, 7, 1)
        objects.floats(self.random.uniform(0, 1, n)).ints(ids.tag, ids.tag).floats(1).ints(0)
        objects.lists(*self._one_each(found, tracks)).lists(*self._one_each(found, clusters))
        objects.ints(0, found.tag)
        return Collection("PandoraPFOs", "ReconstructedParticle", 0, objects, _ALGORITHMS), found

    def _one_each(self, owners: _Origins, owned: _Origins) -> tuple[Any, tuple[str, Any]]:
        owner, tags = self._owned(owners, [owned])
        return owner, (">i4", tags)

    def _links(self, found: list[_Origins]) -> Collection:
        event, of, tag = (
            np.concatenate([getattr(each, name) for each in found])
            for name in ("event", "of", "tag")
        )
        order = np.argsort(event, kind="stable")
        objects = Objects(event[order]).ints(tag[order], self.generated.tag[of[order]])
        objects.floats(self.random.uniform(0.5, 1, len(of)))
        types = {"FromType": ["ReconstructedParticle"], "ToType": ["MCParticle"]}
        return Collection("RecoMCTruthLink", "LCRelation", _WEIGHTS, objects, types)

    def _vertices(self) -> Collection:
        n = self.n_events
        objects = Objects(np.arange(n)).ints(1, 0).floats(self.random.chisquare(30, n), 0.5)
        objects.floats(*self.random.normal(0, 0.002, (3, n)), *np.full((6, n), 1e-6)).ints(0, 0)
        objects.ints(NOBODY)
        names = {"_lcio.VertexAlgorithmTypes": ["IPFinder"]}
        return Collection("PrimaryVertex", "Vertex", 0, objects, names)
