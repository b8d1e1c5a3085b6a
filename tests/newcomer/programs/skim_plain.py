import json

import uproot

types = {"event": "uint64", "Muon_pt": "var * float32", "MET_pt": "float32"}
skims = {}
for sample in ("data", "dy"):
    with uproot.recreate(f"{sample}_skim.root") as file:
        skim = file.mktree("Events", types)
        for events in uproot.iterate(f"{sample}.root:Events", ["nMuon", *types], step_size=100):
            kept = events[events["nMuon"] >= 2]
            skim.extend({name: kept[name] for name in types})
    skims[sample] = uproot.open(f"{sample}_skim.root")["Events"]
print(json.dumps({name: skims[name].arrays(["event", "Muon_pt"]).tolist() for name in skims}))
