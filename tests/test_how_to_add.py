"""Each row of "How to add" in ARCHITECTURE.md is true: what it says, and no more, adds one, in a copy of the tree."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent


class Line(NamedTuple):
    """A line that is put behind another one."""

    file: str
    behind: str
    line: str


class Addition(NamedTuple):
    """What a row says that is needed, and how it shows that it works: lines that raise if it does not."""

    file: str
    text: str
    lines: tuple[Line, ...]
    tried: str


VERB = '''"""`mosaic greet`."""

def main(argv):
    print("hello", *argv)
    return 0
'''

FAMILY = '''"""Chalk."""

from mosaic.envs.family import Family

FAMILY = Family(name="chalk", title="Chalk", observation_rule="as it is", distribution="gymnasium", id_pattern="^Chalk")
'''

PRESET = """{"v": 1, "name": "calm", "about": "Small steps.", "algo": "ppo", "environment": {"env_id": "Taxi-v4"},
 "settings": {"learning_rate": 0.0001}, "origin": {"learning_rate": "a guess"}}"""

ENGINE = '''"""No worker lives for long here."""

from mosaic.trainer.engines.engine import Collected, Handle, Probe


class MyEngine:
    is_warm = False
    runs_here = True

    def __init__(self, surroundings): ...
    def misfits(self, config, slots): return ()
    def choose(self, queued, live, slots): return queued
    def probe(self): return Probe(found=["mine"])
    def pid_of(self, handle): return 0
    def forget(self, handle): ...
    def launch(self, launch): return Handle(run_dir=launch.run_dir, engine="mine", epoch=launch.epoch, pid=17)
    def poll(self, handle): return False
    def stop(self, handle): return False
    def would_save(self, handle): return False
    def hold(self, handle): ...
    def let_go(self, handle): ...
    def kill(self, handle): ...
    def collect(self, handle): return Collected(exit_code=0)
    def warm_up(self): ...
    def close(self): ...
'''

ACTOR = '''"""`lazy`: does nothing."""

from mosaic.spec.actors import ActorDescriptor

DESCRIPTOR = ActorDescriptor(id="lazy", label="Lazy", description="Does nothing.")

def make(argument, context):
    return None
'''

TRACKER = '''"""Exports to a tally."""

class TallyExporter:
    title = "Tally"

    def __init__(self, run_dir, about):
        self.rows, self.place, self.page, self.run_id, self.refused = 0, "here", "here", about.name, []
        self.taken = []

    def take(self, event): self.rows += 1
    def flush(self): ...
    def close(self, *, failed): ...
'''

INTAKE = '''"""Diaries."""

from mosaic.intake.found import Found

def is_there(folder): return (folder / "diary.txt").exists()
def identity(folder): return "diary"
def read(folder): return Found(tool="Diary", path=folder, identity="diary", label=folder.name)
'''

TAB = '''"""A clock."""

from PySide6.QtWidgets import QLabel

class ClockTab(QLabel):
    def __init__(self, studio, theme):
        super().__init__("noon")
'''

PROGRAM = '''"""Says whether its path is safe."""

import sys

print(sys.flags.safe_path)
'''

EVENT = '''
@dataclass(frozen=True, kw_only=True)
class Sneezed:
    """The worker sneezed."""

    kind: ClassVar[str] = "run.sneezed"
    loudness: float
    """How loud."""

'''

ADDITIONS = {
    "an environment family": Addition(
        "mosaic/envs/chalk.py",
        FAMILY,
        (
            Line("mosaic/envs/families.py", "FAMILIES: tuple[Family, ...] = (", "    chalk.FAMILY,"),
            Line("mosaic/envs/families.py", "from mosaic.errors import", "from mosaic.envs import chalk"),
        ),
        "from mosaic import envs\nassert envs.family_of('Chalk-v0').name == 'chalk'",
    ),
    "a preset": Addition(
        "mosaic/spec/presets/shipped/ppo__Taxi-v4__calm.json",
        PRESET,
        (),
        "from mosaic.spec.presets import preset_files\n"
        "[calm] = [one.preset for one in preset_files.shipped() if one.preset.name == 'calm']\n"
        "assert calm.settings == {'learning_rate': 0.0001}",
    ),
    "a verb": Addition(
        "mosaic/cli/greet.py",
        VERB,
        (Line("mosaic/cli/__init__.py", "VERBS: Mapping", '    "greet": ("greet", "say hello"),'),),
        "from mosaic import cli\nassert cli.main(['greet', 'you']) == 0\nassert 'say hello' in cli._usage()",
    ),
    "an engine": Addition(
        "mosaic/trainer/engines/mine.py",
        ENGINE,
        (
            Line("mosaic/trainer/engines/__init__.py", "ENGINES: Mapping", '    "mine": MyEngine,'),
            Line(
                "mosaic/trainer/engines/__init__.py",
                "from mosaic.trainer.engines.local_engine",
                "from mosaic.trainer.engines.mine import MyEngine",
            ),
        ),
        "from mosaic.rpc.client import Client\nfrom mosaic.rpc.locate import ensure_daemon\n"
        "from mosaic.spec.run_dir import Home\n"
        "client = Client(ensure_daemon(Home.resolve(), flags=['--engine', 'mine']))\n"
        "assert client.health().warm_workers == 0\nclient.shutdown()",
    ),
    "an actor": Addition(
        "mosaic/play/actors/lazy.py",
        ACTOR,
        (Line("mosaic/play/actors/__init__.py", "ACTORS = {", '    "lazy": "mosaic.play.actors.lazy",'),),
        "from mosaic.play import actors\nassert 'lazy' in actors.names()\n"
        "assert actors.module_of('lazy').DESCRIPTOR.description == 'Does nothing.'",
    ),
    "a tracker": Addition(
        "mosaic/track/tally_exporter.py",
        TRACKER,
        (
            Line(
                "mosaic/track/trackers.py",
                "EXPORTERS: Mapping[str, str] = {",
                '    "tally": "mosaic.track.tally_exporter:TallyExporter",',
            ),
            Line("mosaic/spec/run_config.py", '    """Export to MLflow."""', "    track_tally: bool = False"),
        ),
        "import json\nfrom run_directories import BODIES, line_of\nfrom mosaic.spec.run_dir import Home, new_run_id\n"
        "from mosaic.track import local_export, export_state\n"
        "run_dir = Home.resolve().run(new_run_id())\nrun_dir.create()\n"
        "worker = {'algo': 'ppo', 'env_id': 'CartPole-v1', 'extras': {'track_tally': True}}\n"
        "metadata = {'worker': {'config': worker}}\n"
        "config = {'environment': {'env_id': 'CartPole-v1'}, 'artifacts': {}, 'metadata': metadata}\n"
        "run_dir.config.write_text(json.dumps(config))\n"
        "kinds = ('run.started', 'scalars', 'run.completed')\n"
        "lines = [line_of(at + 1, kind, BODIES[kind]) for at, kind in enumerate(kinds)]\n"
        "run_dir.events.write_bytes(b''.join(line + b'\\n' for line in lines))\n"
        "from mosaic.track import trackers\nassert trackers.wanted(run_dir) == ['tally']\n"
        "assert local_export.export_local(run_dir, 'tally') == 0\n"
        "assert export_state.read(run_dir, 'tally').state == 'synced'",
    ),
    "a tool to import from": Addition(
        "mosaic/intake/diary.py",
        INTAKE,
        (
            Line(
                "mosaic/intake/search.py",
                "SOURCES: Sequence[Source] = (",
                "    diary,",
            ),
            Line("mosaic/intake/search.py", "from mosaic.intake import", "from mosaic.intake import diary"),
        ),
        "import tempfile\nfrom pathlib import Path\nfrom mosaic.intake.search import search\n"
        "folder = Path(tempfile.mkdtemp())\n(folder / 'diary.txt').touch()\n[found] = search(folder)\n"
        "assert found.read().tool == 'Diary'\n(folder / 'diary.txt').unlink()\nfolder.rmdir()",
    ),
    "a tab": Addition(
        "mosaic/gui/tabs/clock.py",
        TAB,
        (
            Line(
                "mosaic/gui/tabs/__init__.py",
                "TABS: Sequence[Tab] = (",
                '    Tab("Clock", "play", "centre", ClockTab),',
            ),
            Line("mosaic/gui/tabs/__init__.py", "from mosaic.gui.theme", "from mosaic.gui.tabs.clock import ClockTab"),
        ),
        "from PySide6.QtWidgets import QApplication\napplication = QApplication(['test'])\n"
        "from mosaic.gui.tabs import TABS\n[tab] = [tab for tab in TABS if tab.title == 'Clock']\n"
        "assert tab.make(None, None).text() == 'noon'",
    ),
    "a program of ours": Addition(
        "mosaic/track/hello_child.py",
        PROGRAM,
        (),
        "from mosaic.spec.processes.python_child import PythonChild\n"
        "done = PythonChild(module='mosaic.track.hello_child').run(capture_output=True, text=True)\n"
        "assert done.stdout == 'True\\n', done.stderr",
    ),
    "code that a config names": Addition(
        "",
        "",
        (
            Line(
                "mosaic/scripts/code_gate.py",
                '    """All that a worker would run on the word of this config."""',
                '    yield from [Code(Path(worker.agent_id), "agent_id")] if worker.agent_id else []',
            ),
        ),
        "from mosaic.errors import ConfigError\nfrom mosaic.scripts import code_gate\n"
        "from mosaic.scripts.allowed_folders import Allowed\nfrom mosaic.spec import run_config\n"
        "from mosaic.spec.run_dir import Home\n"
        "worker = run_config.parse_worker({'algo': 'ppo', 'env_id': 'x', 'agent_id': '/opt/brain.py'})\n"
        "try:\n    code_gate.refuse_code(worker, Allowed(Home.resolve()))\n"
        "except ConfigError as error:\n    assert 'mosaic scripts add /opt' in str(error)\n"
        "else:\n    raise AssertionError('the code was not refused')",
    ),
    "an event": Addition(
        "",
        "",
        (
            Line("mosaic/spec/events.py", "EventBody: TypeAlias = (", "    Sneezed |"),
            Line("mosaic/spec/events.py", '    """What happened and what to do next."""', EVENT),
        ),
        "from mosaic.spec import events\n"
        "line = events.encode(events.Event(1, 2.0, events.Sneezed(loudness=3.0)))\n"
        "assert events.decode(line).body.loudness == 3.0",
    ),
}
"""Of each row but the first, an algorithm, which needs torch and has a test of its own below."""


def rows() -> list[list[str]]:
    section = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("\n## How to add\n")[2]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_row_is_tried() -> None:
    assert [row[0] for row in rows()] == ["an algorithm", *ADDITIONS]


@pytest.mark.parametrize("name", ADDITIONS)
def test_a_row_names_the_places_that_one_has_to_be_added_to(name: str) -> None:
    """The new file by its folder, and each file with a further line."""
    [(_, where, further)] = [row for row in rows() if row[0] == name]
    added = ADDITIONS[name]
    if added.file and "PythonChild" not in where:
        assert f"src/{added.file.rpartition('/')[0]}/<" in where
    for line in added.lines:
        file = line.file.rpartition("/")[2]
        assert file in f"{where} {further}"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with one more of everything."""
    root = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for added in ADDITIONS.values():
        if added.file:
            (root / "src" / added.file).write_text(added.text)
        for line in added.lines:
            path = root / "src" / line.file
            text = path.read_text()
            assert len(re.findall(f"(?m)^{re.escape(line.behind)}", text)) <= 1, line
            path.write_text(re.sub(f"(?m)^{re.escape(line.behind)}.*\n", rf"\g<0>{line.line}\n", text, count=1))
    return root


@pytest.fixture(scope="module")
def run(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    def command(*words: str) -> "subprocess.CompletedProcess[str]":
        paths = [str(tree / "src"), str(ROOT / "tests" / "support")]
        variables = {"PYTHONPATH": os.pathsep.join(paths), "MOSAIC_HOME": str(tmp_path_factory.mktemp("home"))}
        environment = {**os.environ, **variables, "QT_QPA_PLATFORM": "offscreen"}
        return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)

    return command


@pytest.fixture(scope="module")
def outcomes(run: Callable[..., "subprocess.CompletedProcess[str]"]) -> dict[str, str]:
    """Of all of them in one process."""
    code = f"""
import json, sys, traceback
outcomes = {{}}
for name, code in {[(name, added.tried) for name, added in ADDITIONS.items()]!r}:
    try:
        exec(code, {{}})
        outcomes[name] = ""
    except BaseException:
        outcomes[name] = traceback.format_exc()
assert "torch" not in sys.modules
print()
print(json.dumps(outcomes))
"""
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ADDITIONS)
def test_what_is_added_by_its_row_works(outcomes: dict[str, str], name: str) -> None:
    assert outcomes[name] == ""


def test_an_algorithm_is_a_file_and_its_page(tmp_path: Path) -> None:
    """The shared suite has it then, as all the others."""
    for folder in ("src", "tools", "tests/worker", "tests/support", "docs/algorithms"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / file, tmp_path / file)
    algorithms, pages = tmp_path / "src/cleanrl_worker/algorithms", tmp_path / "docs/algorithms"
    (algorithms / "newcomer.py").write_text(
        (algorithms / "ppo.py").read_text().replace('main("ppo")', 'main("newcomer")')
    )
    (pages / "newcomer.md").write_text((pages / "ppo.md").read_text())
    suite = ["tests/worker/suite/test_smoke.py", "tests/worker/test_algorithm_docs.py"]
    # Otherwise it would first delete what earlier suites have left, a minute's work.
    own_folder = ["--basetemp", str(tmp_path / "base")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *own_folder, *suite, "-k", "newcomer"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 8, done.stdout
