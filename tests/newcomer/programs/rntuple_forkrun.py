import json
import sys

import forkrun

job = forkrun.Job(f"{sys.argv[1]}/rntuple/coffea_nano_dy_rntuple.root", name="rntuple")
job.filter("nMuon >= 1").hist("Muon_pt", (50, 0, 200), name="pt").output("skim", keep=["Muon_*"])
result = job.run(children=2)
print(json.dumps({"pt": result.histograms["pt"].values().tolist()}))
