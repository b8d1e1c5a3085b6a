import json
import sys

import forkrun

inputs = {
    "delphes": ("objects/delphes.root", "Delphes", "Jet.PT"),
    "edm4hep": ("objects/p8_ee_WW_ecm240_edm4hep.root", "events", "ReconstructedParticles.energy"),
    "lcio": ("lcio/small_all.slcio", "Events", "MCParticle.energy"),
}
found = {}
for name, (file, tree, column) in inputs.items():
    job = forkrun.Job(f"{sys.argv[1]}/{file}", tree=tree, name=name)
    job.hist(f"sum({column})", (50, 0, 500), name="sum").hist("event", (20, 0, 20), name="event")
    histograms = job.run(children=2).histograms
    found[name] = [histograms[key].values().tolist() for key in ("sum", "event")]
print(json.dumps(found))
