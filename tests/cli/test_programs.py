"""Commands take the job of a program in Python in the place of a configuration."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import forkrun
from forkrun.base.durable import read_json
from tests.support.files import write_events
from tests.support.jobs import Ended, environment, running, served_python, wait_for
from tests.support.jobs import forkrun as command

PROGRAM = """
import sys
from pathlib import Path
import forkrun

if {is_odd}:
    Path("begun").write_text(" ".join(sys.argv) + __file__)

def make(name, least):
    job = forkrun.Job("a.root", name=name)
    job.filter(lambda block: block.event > least, label="cut")
    job.hist("event", (100, 0, 100))
    return job

"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_events(tmp_path / "a.root", [(1, lumi, 10) for lumi in range(1, 9)])
    return tmp_path


def program(folder: Path, text: str) -> str:
    place = folder / "analysis.py"
    place.write_text(PROGRAM.format(is_odd=True) + text)
    return place.name


def n_left(run: Path) -> int:
    return int(forkrun.Result.read(run).histograms["event"].sum().value)


def run(folder: Path, *words: object) -> Ended:
    return command(*words, "--children", 1, cwd=folder)


@pytest.mark.slow
def test_the_job_that_would_run_first_is_taken_with_the_arguments_of_its_call(
    folder: Path,
) -> None:
    file = program(
        folder,
        'make("other", 50)\n'
        'job = make("mine", 20)\n'
        'result = job.run(children=7, threads=3, output="out")\n'
        'raise AssertionError("not reached")\n',
    )
    ended = command("run", file, cwd=folder)
    assert ended.code == 0, ended.err
    assert "mine: done and verified" in ended.out
    assert n_left(folder / "out") == 60
    config = read_json(folder / "out/config.json")
    assert (config["forking"]["children"], config["threads"]["per_child"]) == (7, 3)
    report = forkrun.Result.read(folder / "out").report
    assert report["job"]["host"]["command"][-3:] == ["run", "analysis.py", "--no-plots"]


def test_the_command_line_overrides_the_program(folder: Path) -> None:
    write_events(folder / "b.root", [(2, 1, 30)])
    file = program(folder, 'make("mine", 20).run(children=7, output="out")\n')
    words = ("--children", 2, "-o", "mine", "--set", "job.seed=3", "b.root")
    ended = command("run", file, "-q", *words, cwd=folder)
    assert ended.code == 0, ended.err
    config = read_json(folder / "mine/config.json")
    assert (config["forking"]["children"], config["job"]["seed"]) == (2, 3)
    assert config["source"]["files"] == [str(folder / "b.root")]
    assert (n_left(folder / "mine"), (folder / "out").exists()) == (10, False)


def test_a_program_that_runs_no_job_has_its_only_one_taken(folder: Path) -> None:
    file = program(folder, 'job = make("mine", 70)\n')
    ended = run(folder, "run", file, "-q")
    assert ended.code == 0, ended.err
    assert n_left(folder / "mine-run") == 10


def test_one_of_several_jobs_is_named(folder: Path) -> None:
    two = 'make("one", 10)\nmake("two", 20)\n'
    ended = run(folder, "run", program(folder, two), "-q")
    assert (ended.code, ended.err) == (
        2,
        "forkrun: analysis.py: this program makes several jobs; name one: --job one, --job two\n",
    )
    ended = run(folder, "run", "analysis.py", "-q", "--job", "two")
    assert ended.code == 0, ended.err
    assert n_left(folder / "two-run") == 60
    file = program(folder, 'one = make("one", 10)\ntwo = make("two", 20)\none.run()\ntwo.run()\n')
    ended = run(folder, "run", file, "--job", "two", "-o", "again", "-q")
    assert ended.code == 0, ended.err
    assert n_left(folder / "again") == 60


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("", (), "analysis.py: this program makes no forkrun.Job"),
        (
            'make("a", 1).run()\nmake("b", 1)\n',
            ("--job", "b"),
            "--job b: this program makes no job of this name up to its first job.run(): --job a",
        ),
        ("job = make('a', 1)\n1 / 0\n", (), "analysis.py: ZeroDivisionError: division by zero"),
        ("job = = 1\n", (), "SyntaxError: invalid syntax (analysis.py, line 15)"),
        ("make('a', 1).filter('nMuon > 2').run()\n", (), "nMuon"),
        ('import sys\nsys.exit("no luck")\n', (), "no luck"),
    ],
)
def test_what_is_wrong_with_a_program_is_said(
    folder: Path, text: str, words: tuple[str, ...], said: str
) -> None:
    ended = run(folder, "check", program(folder, text), *words)
    assert ended.code in (1, 2)
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_configuration_has_no_jobs_to_name(folder: Path) -> None:
    (folder / "job.toml").write_text('[source]\nfiles = ["a.root"]\n')
    ended = run(folder, "check", "job.toml", "--job", "a")
    assert (ended.code, ended.err) == (2, "forkrun: --job a: job.toml is not a program in Python\n")


def test_a_program_has_its_own_arguments_behind_dashes(folder: Path) -> None:
    text = 'make("mine", int(sys.argv[2])).run()\n'
    ended = run(folder, "run", program(folder, text), "-q", "--set", "job.seed=1")
    assert "IndexError" in ended.err
    ended = command("run", "analysis.py", "-q", "--", "--least", "30", cwd=folder)  # --no-plots
    assert ended.code == 0, ended.err
    assert (folder / "begun").read_text() == "analysis.py --least 30 --no-plotsanalysis.py"
    assert n_left(folder / "mine-run") == 50


def test_a_program_that_holds_what_it_is_ended_by_goes_on(folder: Path) -> None:
    text = (
        'try:\n    make("mine", 20).run()\nexcept Exception:\n    print("held")\n'
        'finally:\n    print("ended")\n'
    )
    ended = run(folder, "run", program(folder, text), "-q")
    assert (ended.code, ended.out) == (0, "ended\n")


def test_errors_and_plans_are_those_of_the_job(folder: Path) -> None:
    file = program(folder, 'make("mine", 20).hist("none", (1, 0, 1)).run()\n')
    ended = run(folder, "check", file)
    assert ended.code == 2
    assert 'neither the input nor a module has "none"' in ended.err
    file = program(folder, 'make("mine", 20).run()\n')
    ended = run(folder, "plan", file, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)["n_events"] == 80


@pytest.mark.slow
def test_jobs_that_a_command_tries_have_the_functions_of_the_program(folder: Path) -> None:
    file = program(folder, 'make("mine", 20).run()\n')
    ended = run(folder, "check", file, "--blocks")
    assert ended.code == 0, ended.err
    assert "no result depends on blocks" in ended.out
    ended = run(folder, "submit", file, "--on", "local", "--time-per-node", "1h", "--dry-run")
    assert ended.code == 0, ended.err
    assert "80 events for 1 node" in ended.out


def test_datasets_of_a_program_are_chosen(folder: Path) -> None:
    write_events(folder / "b.root", [(2, 1, 30)])
    file = program(
        folder,
        'job = forkrun.Job({"a": "a.root", "b": "b.root"}, name="both")\n'
        'job.hist("event", (100, 0, 100)).run()\n',
    )
    ended = run(folder, "run", file, "-q", "--dataset", "b")
    assert ended.code == 0, ended.err
    histogram = forkrun.Result.read(folder / "both-run").histograms["event"]
    assert histogram.values().sum(axis=0).tolist() == [0, 30]
    again = run(folder, "run", file, "--dataset", "a")
    assert again.code == 0, again.err
    histogram = forkrun.Result.read(folder / "both-run").histograms["event"]
    assert histogram.values().sum(axis=0).tolist() == [80, 0]


@pytest.mark.parametrize("name", ["LEAST", "LD_LEAST"])
def test_a_job_has_the_environment_and_folder_that_its_program_has_set(
    folder: Path, name: str
) -> None:
    """A variable that counts when a process starts, as some with LD_ do, has one started."""
    (folder / "other").mkdir()
    text = (
        "import os\n"
        f"os.environ[{name!r}] = '30'\n"
        "job = forkrun.Job('../a.root', name='mine')\n"
        f"job.filter(lambda b: b.event > int(os.environ[{name!r}])).hist('event', (100, 0, 100))\n"
        "os.chdir('other')\n"
        "job.run(1)\n"
    )
    ended = command("run", program(folder, text), "-q", cwd=folder)
    assert ended.code == 0, ended.err
    assert n_left(folder / "other/mine-run") == 50


def test_a_program_has_the_input_of_the_command(folder: Path) -> None:
    text = 'make("mine", int(input())).run(1)\n'
    words = [served_python(), "-m", "forkrun", "run", program(folder, text), "-q"]
    subprocess.run(words, cwd=folder, input="30\n", text=True, check=True, env=environment())
    assert n_left(folder / "mine-run") == 50


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_ends_a_program_with_its_command(folder: Path, number: signal.Signals) -> None:
    text = "import os, time\nPath('pid').write_text(f'{os.getpid()}\\n')\ntime.sleep(1e6)\n"
    with running("run", program(folder, text), cwd=folder) as process:
        wait_for(lambda: (folder / "pid").is_file() and "\n" in (folder / "pid").read_text())
        process.send_signal(number)
        code = process.wait()
    copy = Path("/proc", (folder / "pid").read_text().strip())
    wait_for(lambda: not copy.exists())
    assert code == (130 if number == signal.SIGINT else -number)


def test_a_program_that_dies_ends_its_command_alike(folder: Path) -> None:
    text = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"
    with running("run", program(folder, text), cwd=folder) as process:
        assert process.wait() == -signal.SIGSEGV


@pytest.mark.slow
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("as_program", [False, True])
def test_files_of_the_folder_are_not_taken_for_modules_of_python(
    folder: Path, as_program: bool
) -> None:
    """No process that is started, for files, for the job, for a node, imports them."""
    (folder / "here").mkdir()
    for name in ("queue", "json", "random", "numpy"):
        (folder / "here" / f"{name}.py").write_text(f"raise RuntimeError('{name} of the user')\n")
    file = folder / program(folder, 'make("mine", 30).run(1)\n')
    file.write_text(file.read_text().replace('"a.root"', f'"{folder / "a.root"}"'))
    job = folder / "job.json"
    source = {"files": [str(folder / "a.root")]}
    outputs = [{"label": "all"}]
    job.write_text(json.dumps({"source": source, "outputs": outputs, "batch": {"on": "local"}}))
    python = Path(sys.executable)
    words: list[str | Path] = [python.with_name("forkrun"), "submit", job, "--nodes=2", "-o", "run"]
    if as_program:
        words = [python, file]
    subprocess.run(words, cwd=folder / "here", check=True, capture_output=True, text=True)
    if not as_program:
        collect = [words[0], "collect", "run"]
        here = folder / "here"
        wait_for(lambda: subprocess.run(collect, cwd=here, capture_output=True).returncode == 0)
