import json

import hist
import numpy as np
import onnxruntime
import uproot

session = onnxruntime.InferenceSession("sum.onnx", providers=["CPUExecutionProvider"])
name = session.get_inputs()[0].name
score = hist.Hist.new.Reg(50, 0, 500).Double()
for events in uproot.iterate("dy.root:Events", ["MET_pt", "nJet"], library="np"):
    features = np.stack([events["MET_pt"], events["nJet"]], axis=1).astype(np.float32)
    (made,) = session.run(None, {name: features})
    score.fill(made[:, 0])
print(json.dumps({"score": score.values().tolist()}))
