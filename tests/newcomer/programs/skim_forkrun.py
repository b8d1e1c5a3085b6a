import json

import uproot

import forkrun

datasets = {"data": {"files": "data.root", "is_data": True}, "dy": {"files": "dy.root"}}
job = forkrun.Job(datasets, name="skim")
job.filter("nMuon >= 2").output("skim", keep=["event", "Muon_pt", "MET_pt"])
result = job.run(children=2)
skims = {name: uproot.open(result.output("skim", name))["Events"] for name in datasets}
print(json.dumps({name: skims[name].arrays(["event", "Muon_pt"]).tolist() for name in skims}))
