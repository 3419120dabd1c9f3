"""Algorithm files are told from scripts by reading them, and each name means one file or has a problem."""

import shutil
from pathlib import Path

import pytest

from mosaic.errors import ConfigError, UnknownAlgorithm
from mosaic.scripts import algorithm_file, code_gate, own_algorithms
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec import run_config
from mosaic.spec.files import source_copy
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.run_config import WorkerConfig
from mosaic.spec.run_dir import Home

EXAMPLE = Path(__file__).parents[2] / "examples" / "random_search.py"
WHOLE = "from cleanrl_worker.sdk import Run\nclass Args: ...\nACTIONS = 'discrete'\n"
WHOLE += "def train(run, args): ...\ndef load(file): ...\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mine"
    made.mkdir()
    return made


@pytest.fixture
def allowed(tmp_path: Path, folder: Path) -> Allowed:
    found = Allowed(Home(tmp_path / "home"))
    found.add(folder)
    return found


def config(algo: str) -> WorkerConfig:
    return run_config.parse_worker({"algo": algo, "env_id": "CartPole-v1"})


def test_an_algorithm_is_listed_and_is_no_script(allowed: Allowed, folder: Path) -> None:
    shutil.copy(EXAMPLE, folder)
    assert [(one.name, one.problem) for one in own_algorithms.known(allowed)] == [("random_search", "")]
    assert list(allowed.scripts()) == []
    with pytest.raises(ConfigError, match="is an algorithm, not a script; name it 'random_search'"):
        allowed.read(str(folder / "random_search.py"))


def test_a_script_is_no_algorithm(allowed: Allowed, folder: Path) -> None:
    script = (
        "import gymnasium\ndef train(env): ...\nif __name__ == '__main__':\n    train(gymnasium.make('CartPole-v1'))\n"
    )
    (folder / "plain.py").write_text(script)
    assert own_algorithms.known(allowed) == []
    assert [one.name for one in allowed.scripts()] == ["plain.py"]


def test_a_module_that_only_helps_is_not_listed_but_is_explained_when_it_is_named(folder: Path) -> None:
    (folder / "nets.py").write_text("from cleanrl_worker.sdk.fast import Mlp\n")
    read = algorithm_file.read(folder / "nets.py")
    assert read.is_meant
    assert not read.is_listed
    assert read.problem.startswith("defines no Args, ACTIONS, train(run, args) and no load(file)")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("mine", WHOLE.replace("class Args: ...\n", ""), "defines no Args; an algorithm file has Args, ACTIONS,"),
        ("mine", WHOLE.replace("def train(", "def learn("), r"defines no train\(run, args\)"),
        ("mine", WHOLE + "def (\n", "line 6: invalid syntax"),
        ("ppo", WHOLE, "would hide the algorithm 'ppo' of MOSAIC"),
        ("random", WHOLE, "would hide the module 'random' of Python"),
        ("my-ppo", WHOLE, "'my-ppo' cannot be the name of an algorithm"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(allowed: Allowed, folder: Path, name: str, text: str, problem: str) -> None:
    (folder / f"{name}.py").write_text(text)
    [found] = own_algorithms.known(allowed)
    assert found.name == name
    with pytest.raises(ConfigError, match=problem):
        code_gate.algorithm(name, allowed)
    if name == "mine":
        with pytest.raises(ConfigError, match=problem):
            code_gate.refuse_code(config(name), allowed)


def test_two_files_of_one_name_are_refused_with_both_places(allowed: Allowed, folder: Path) -> None:
    (folder / "mine.py").write_text(WHOLE)
    (folder / "other").mkdir()
    (folder / "other" / "mine.py").write_text(WHOLE)
    with pytest.raises(ConfigError) as refused:
        code_gate.refuse_code(config("mine"), allowed)
    assert "is the name of 2 algorithms" in str(refused.value)
    assert f"{folder}/mine.py and {folder}/other/mine.py; rename one of them" in str(refused.value)


def test_only_files_of_allowed_folders_are_found(allowed: Allowed, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(WHOLE)
    (folder / "linked.py").symlink_to(tmp_path / "mine.py")
    runs = Home(tmp_path / "home").runs
    runs.mkdir(parents=True)
    allowed.add(tmp_path / "home")
    (runs / "planted.py").write_text(WHOLE)
    for name in ("mine", "linked", "planted"):
        with pytest.raises(UnknownAlgorithm, match="mosaic algos add DIR"):
            code_gate.algorithm(name, allowed)
    (folder / "mine.py").write_text(WHOLE)
    assert code_gate.algorithm("mine", allowed).file == folder / "mine.py"
    allowed.remove(folder)
    with pytest.raises(UnknownAlgorithm):
        code_gate.algorithm("mine", allowed)


def test_an_installed_package_is_found_by_its_entry_point(
    allowed: Allowed, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "site" / "their_rl-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-rl\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text("[mosaic.algorithms]\ntheirs = their_rl.search\nppo = their_rl.ppo\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    found = code_gate.algorithm("theirs", allowed)
    assert (found.module, found.package, found.file) == ("their_rl.search", "their-rl 1.2", None)
    assert list(code_gate.code_of(config("theirs"), allowed)) == []
    with pytest.raises(ConfigError, match="would hide the algorithm 'ppo'"):
        code_gate.algorithm("ppo", allowed)
    (folder / "theirs.py").write_text(WHOLE)
    with pytest.raises(ConfigError, match=r"is the name of 2 algorithms, .*theirs.py and their_rl.search of their-rl"):
        code_gate.algorithm("theirs", allowed)


def test_a_copy_of_sources_comes_back_and_tells_what_has_changed(tmp_path: Path) -> None:
    copy = SourceCopy("a.py", {"a.py": "x = 1\n", "b/c.py": "y = 2\n"})
    assert source_copy.from_json(copy.to_json()) == copy
    assert copy.write(tmp_path / "out").read_text() == "x = 1\n"
    assert source_copy.difference(copy, source_copy.on_disk(copy, tmp_path / "out" / "a.py")) == ""
    (tmp_path / "out" / "b" / "c.py").unlink()
    (tmp_path / "out" / "a.py").write_text("x = 2\n")
    now = source_copy.on_disk(copy, tmp_path / "out" / "a.py")
    assert source_copy.difference(copy, now) == "a.py changed, b/c.py no longer used"
    assert now.short != copy.short


@pytest.mark.parametrize("name", ["../x.py", "/x.py", "a/../../x.py", ".x.py", "x.sh", "a//b.py", "x\n.py"])
def test_a_copy_with_a_path_that_leaves_its_folder_is_refused(name: str) -> None:
    copy = SourceCopy(name, {name: ""}).to_json()
    with pytest.raises(source_copy.BadSource, match="is not a name of a source file"):
        source_copy.from_json(copy)


@pytest.mark.parametrize(
    "data",
    [None, [], {"file": "a.py"}, {"file": 1, "package": "", "files": {}}, {"file": "a.py", "files": {"a.py": 1}}],
)
def test_anything_else_is_no_copy_of_sources(data: object) -> None:
    with pytest.raises(source_copy.BadSource):
        source_copy.from_json(data)
