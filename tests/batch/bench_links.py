"""What nodes and `collect` read over a link, where `collect` makes the outputs and where nodes do:
a skim of 5 % with all columns, on a real XRootD server of this machine.

python tests/batch/bench_links.py [--events 60000] [--nodes 4]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.batch.failures import ON_NODES
from tests.support.fault_proxy import fault_proxy
from tests.support.jobs import forkrun, write_job
from tests.support.xrootd_server import XrootdServer, xrootd_server

_STAGED = ("--set", 'batch.stage_in="xrdcp --silent {source} {target}"')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=60_000, metavar="N", help="of each file")
    parser.add_argument("--nodes", type=int, default=4, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, xrootd_server() as server:
        _write_input(server, options.events)
        n_bytes = sum(file.stat().st_size for file in server.data.iterdir())
        print(f"input: {n_bytes / 1e6:.2f} MB; MB that nodes read, collect reads, nodes leave")
        _measure(Path(folder), server, options.nodes)


def _write_input(server: XrootdServer, n_events: int) -> None:
    for seed in (1, 2):
        shape = ("--events", n_events, "--lumis", 6, "--seed", seed)
        _done("sample", server.data / f"{seed}.root", *shape, cwd=server.data)


def _measure(folder: Path, server: XrootdServer, n_nodes: int) -> None:
    with fault_proxy(server.port) as proxy:
        urls = [server.url(f"{n}.root").replace(str(server.port), str(proxy.port)) for n in (1, 2)]
        some = {"label": "some", "type": "expression:event % 20 == 0", "kind": "filter"}
        job = {
            "source": {"files": urls, "duplicates": "keep"},
            "modules": [some],
            "paths": {"some": ["some"]},
            "outputs": [{"label": "skim", "paths": ["some"]}],
        }
        config = write_job(folder, job)
        staged = (*_STAGED, "--set", f"batch.scratch={folder}")
        ways = {"collect": (), "on nodes": ON_NODES}
        if shutil.which("xrdcp"):
            ways |= {"collect, staged": staged, "on nodes, staged": (*staged, *ON_NODES)}
        for name, settings in ways.items():
            run, place = folder / name, ("--scratch", folder) if "staged" in name else ()
            shape = ("--on", "local", "--dry-run", "--nodes", n_nodes, "-o", run)
            _done("submit", config, *shape, *settings, cwd=folder)
            read = [proxy.n_bytes]
            for number in range(n_nodes):
                _done("node", run, number, "-q", *place, cwd=folder)
            read.append(proxy.n_bytes)
            left = sum(f.stat().st_size for f in (run / "nodes").rglob("*") if f.is_file())
            _done("collect", run, "-q", cwd=folder)
            read.append(proxy.n_bytes)
            of_nodes, of_collect = read[1] - read[0], read[2] - read[1]
            print(f"{name:>16}: {of_nodes / 1e6:6.2f} {of_collect / 1e6:6.2f} {left / 1e6:6.2f}")


def _done(*arguments: object, cwd: Path) -> None:
    ended = forkrun(*arguments, cwd=cwd)
    assert ended.code == 0, ended.err


if __name__ == "__main__":
    main()
