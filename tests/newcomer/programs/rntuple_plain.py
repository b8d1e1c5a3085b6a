import json
import sys

import awkward as ak
import hist
import uproot

events = uproot.open(f"{sys.argv[1]}/rntuple/coffea_nano_dy_rntuple.root")["Events"]
muon_pt = events.arrays(["Muon_pt"])["Muon_pt"]
muon_pt = muon_pt[ak.num(muon_pt) >= 1]
with uproot.recreate("skim.root") as file:
    file.mkrntuple("Events", {"Muon_pt": muon_pt})
pt = hist.Hist.new.Reg(50, 0, 200).Double().fill(ak.flatten(muon_pt))
print(json.dumps({"pt": pt.values().tolist()}))
