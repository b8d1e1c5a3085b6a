import json

import hist
import matplotlib
import uproot

matplotlib.use("Agg")
import mplhep

met = hist.Hist.new.Reg(50, 0, 200).Double()
for events in uproot.iterate("dy.root:Events", ["nMuon", "MET_pt"], library="np"):
    met.fill(events["MET_pt"][events["nMuon"] >= 2])
mplhep.histplot(met)
print(json.dumps({"met": met.values().tolist()}))
