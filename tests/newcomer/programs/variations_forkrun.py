import json

import forkrun

jec = {"label": "jec", "type": "correctionlib", "file": "jec.json"}
job = forkrun.Job("dy.root", name="variations", conditions=[jec])


def scaled(direction):
    return lambda events: events.conditions["jec"][direction].evaluate(events.Jet.pt)


job.vary("Jet_pt", "jes", up=scaled("up"), down=scaled("down"))
job.filter("sum(Jet_pt) > 50").hist("sum(Jet_pt)", (50, 0, 500), name="ht")
ht = job.run(children=2).histograms["ht"]
variations = ("nominal", "jes_up", "jes_down")
print(json.dumps({name: ht[{"variation": name}].values().tolist() for name in variations}))
