import json
import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import hist
import uproot


def met_of(part, is_killed):
    if is_killed:
        os.kill(os.getpid(), signal.SIGKILL)
    tree = uproot.open("dy.root")["Events"]
    first, last = (tree.num_entries * n // 4 for n in (part, part + 1))
    events = tree.arrays(["nMuon", "MET_pt"], entry_start=first, entry_stop=last, library="np")
    return hist.Hist.new.Reg(50, 0, 200).Double().fill(events["MET_pt"][events["nMuon"] >= 2])


if __name__ == "__main__":
    parts, killed = {}, {2}
    while len(parts) < 4:
        for part in {*range(4)} - {*parts}:
            with ProcessPoolExecutor(1) as node:
                try:
                    parts[part] = node.submit(met_of, part, part in killed).result()
                except BrokenProcessPool:
                    killed.discard(part)
    print(json.dumps({"met": sum(parts.values()).values().tolist()}))
