import json

import hist
import matplotlib
import numpy as np
import uproot

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import mplhep

weights = {"data": 1.0, "dy": 0.5 * 1000 * 6077.2 / 600, "ttbar": 0.5 * 1000 * 831.8 / 300}
found = {}
for name, weight in weights.items():
    found[name] = hist.Hist.new.Reg(50, 0, 200).Weight()
    for events in uproot.iterate(f"{name}.root:Events", ["nMuon", "MET_pt"], library="np"):
        found[name].fill(events["MET_pt"][events["nMuon"] >= 2], weight=weight)
total = found["dy"] + found["ttbar"]
figure, (main, below) = plt.subplots(2, sharex=True)
mplhep.histplot([found["ttbar"], found["dy"]], stack=True, histtype="fill", ax=main)
mplhep.histplot(found["data"], histtype="errorbar", ax=main)
filled = total.values() > 0
ratio = np.divide(found["data"].values(), total.values(), where=filled)
below.plot(total.axes[0].centers[filled], ratio[filled], "o")
figure.savefig("plain.png")
print(json.dumps({name: histogram.values().tolist() for name, histogram in found.items()}))
