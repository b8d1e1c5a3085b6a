import gzip
import json
import sys

import awkward as ak
import hist
import uproot


def filled(sums, events):
    of_sums = hist.Hist.new.Reg(50, 0, 500).Double().fill(sums)
    of_events = hist.Hist.new.Reg(20, 0, 20).Double().fill(events)
    return [of_sums.values().tolist(), of_events.values().tolist()]


found = {}
tree = uproot.open(f"{sys.argv[1]}/objects/delphes.root")["Delphes"]
sums = ak.sum(tree["Jet.PT"].array(), axis=1)
found["delphes"] = filled(sums, ak.flatten(tree["Event.Number"].array()))
tree = uproot.open(f"{sys.argv[1]}/objects/p8_ee_WW_ecm240_edm4hep.root")["events"]
sums = ak.sum(tree["ReconstructedParticles/ReconstructedParticles.energy"].array(), axis=1)
found["edm4hep"] = filled(sums, ak.flatten(tree["EventHeader/EventHeader.eventNumber"].array()))
with gzip.open(f"{sys.argv[1]}/lcio/small_all.json.gz") as file:  # made with LCIO itself
    events = json.load(file)["events"]
particles = [{c["name"]: c for c in event["collections"]}["MCParticle"] for event in events]
sums = [collection["sum"]["energy"] for collection in particles]
found["lcio"] = filled(sums, [event["event"] for event in events])
print(json.dumps(found))
