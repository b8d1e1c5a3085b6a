import json

import numpy as np

import forkrun

model = {"label": "model", "type": "onnx", "file": "sum.onnx"}
job = forkrun.Job("dy.root", name="onnx", conditions=[model])


@job.hist((50, 0, 500))
def score(events):
    features = np.stack([events["MET_pt"], events["nJet"]], axis=1).astype(np.float32)
    return events.conditions["model"](features)[:, 0]


print(json.dumps({"score": job.run(children=2).histograms["score"].values().tolist()}))
