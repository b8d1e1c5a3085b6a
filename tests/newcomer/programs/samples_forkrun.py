import json

import forkrun

datasets = {
    "data": {"files": "data.root", "is_data": True},
    "dy": {"files": "dy.root", "cross_section": 6077.2, "sum_of_weights": 600},
    "ttbar": {"files": "ttbar.root", "cross_section": 831.8, "sum_of_weights": 300},
}
job = forkrun.Job(datasets, name="samples", job={"luminosity": 0.5})
job.filter("nMuon >= 2")
job.hist("MET_pt", (50, 0, 200), name="met", weight="lumi_weight")
result = job.run(children=2)
result.plot("met").savefig("forkrun.png")
met = result.histograms["met"]
print(json.dumps({name: met[:, name].values().tolist() for name in datasets}))
