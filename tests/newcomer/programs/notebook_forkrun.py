# %%
import json

import forkrun

job = forkrun.Job("dy.root", name="notebook")
# %%
job.filter("nMuon >= 2").hist("MET_pt", (50, 0, 200), name="met")
result = job.run(children=2)
# %%
result  # noqa: B018
# %%
result.plot("met")
# %%
print(json.dumps({"met": result.histograms["met"].values().tolist()}))
