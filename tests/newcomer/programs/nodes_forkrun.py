import json

import forkrun

job = forkrun.Job("dy.root", name="nodes")
job.filter("nMuon >= 2").hist("MET_pt", (50, 0, 200), name="met")
if __name__ == "__main__":
    submission = job.submit("local", nodes=4)
    submission.kill([2])
    submission.wait()
    submission.resubmit()
    submission.wait()
    print(json.dumps({"met": submission.collect().histograms["met"].values().tolist()}))
