import json

import awkward as ak
import correctionlib
import hist
import numpy as np
import uproot

jec = correctionlib.CorrectionSet.from_file("jec.json")
directions = {"nominal": None, "jes_up": "up", "jes_down": "down"}
found = {name: hist.Hist.new.Reg(50, 0, 500).Double() for name in directions}
for events in uproot.iterate("dy.root:Events", ["Jet_pt"]):
    counts = ak.num(events["Jet_pt"])
    pt = ak.to_numpy(ak.flatten(events["Jet_pt"]))
    for name, direction in directions.items():
        varied = pt if direction is None else jec[direction].evaluate(pt).astype(np.float32)
        ht = ak.sum(ak.unflatten(varied, counts), axis=1)
        found[name].fill(ht[ht > 50])
print(json.dumps({name: histogram.values().tolist() for name, histogram in found.items()}))
