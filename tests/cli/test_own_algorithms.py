"""An algorithm of a user's has the rights of ours, from `mosaic algos new` to its policy; its code runs by the gate."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.spec.run_dir import Home, RunDir

EXAMPLE = Path(__file__).parents[2] / "examples" / "random_search.py"
STEPS = ("--total-timesteps", "2000", "--no-tensorboard")
TAG = '"charts/best_return": score, '
Mosaic = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(mosaic: Mosaic, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An allowed folder with one algorithm and a module beside it."""
    made = tmp_path_factory.mktemp("mine")
    text = EXAMPLE.read_text().replace("ACTIONS = ", "from beside_it import HELP\nACTIONS = ")
    (made / "my_search.py").write_text(text)
    (made / "beside_it.py").write_text("HELP = 1\n")
    said = mosaic("algos", "add", str(made))
    assert (said.code, said.out) == (0, f"{made}: its algorithms and scripts may run; algorithms: my_search\n")
    yield made
    assert mosaic("algos", "remove", str(made)).code == 0


@pytest.fixture(scope="module")
def trained(mosaic: Mosaic, folder: Path) -> RunDir:
    """A run with checkpoints on its way."""
    when = ("--checkpoint-interval-steps", "400", "--checkpoints-kept", "9", "--checkpoint-interval-s", "0")
    said = mosaic("train", str(folder / "my_search.py"), *STEPS, *when, "--follow", "--json")
    assert said.code == 0, said.err
    assert said.objects[-1]["algo"] == "my_search"
    return Home.resolve().run(said.objects[-1]["run_id"])


@pytest.fixture
def file(folder: Path) -> Iterator[Path]:
    """The algorithm, as it was again after the test."""
    path = folder / "my_search.py"
    text = path.read_text()
    yield path
    path.write_text(text)


def policy_of(run_dir: RunDir) -> Path:
    [found] = run_dir.root.glob("runs/*/my_search.cleanrl_model")
    return found


def header_of(policy: Path) -> dict[str, Any]:
    data = policy.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]


def first_checkpoint(run_dir: RunDir) -> Path:
    return min(run_dir.checkpoints.glob("step-*"), key=lambda found: int(found.name.removeprefix("step-")))


def warnings_of(run_dir: RunDir) -> list[str]:
    events = [json.loads(line) for line in run_dir.events.read_text().splitlines()]
    return [event["message"] for event in events if event["kind"] == "run.warning"]


def test_it_is_listed_with_its_schema_and_its_docstring_as_help(mosaic: Mosaic, folder: Path) -> None:
    [listed] = [one for one in mosaic("algos", "--json").objects if one["name"] == "my_search"]
    assert listed["place"] == f"{folder}/my_search.py"
    assert listed["summary"].startswith("Random search: a linear policy")
    assert listed["actions"] == "discrete"
    assert listed["schema"]["properties"]["noise"]["description"] == "Standard deviation of a change."
    page = mosaic("algos", "my_search").out
    assert "The smallest whole algorithm" in page
    assert "| `noise` | 0.5 |" in page
    assert "--noise FLOAT" in mosaic("train", "my_search", "--help").out


def test_its_settings_are_checked_at_submit(mosaic: Mosaic, folder: Path) -> None:
    said = mosaic("train", "my_search", "--noise", "-1", *STEPS)
    assert said.code == 2
    assert "noise" in said.err
    assert "greater than 0" in said.err
    assert "--num-envs: is 2000, more than 1000" in mosaic("train", "my_search", "--num-envs", "2000", *STEPS).err


def test_run_directory_checkpoint_and_policy_carry_the_code(trained: RunDir, folder: Path) -> None:
    texts = {name: (folder / name).read_text() for name in ("my_search.py", "beside_it.py")}
    [kept] = trained.source.iterdir()
    assert {path.name: path.read_text() for path in kept.iterdir()} == texts
    in_checkpoint = json.loads((first_checkpoint(trained) / "state.json").read_text())["source"]
    assert {name: entry["text"] for name, entry in in_checkpoint["files"].items()} == texts
    assert json.loads(header_of(policy_of(trained))["source"]) == in_checkpoint


def test_it_evaluates_plays_and_goes_on_exactly(mosaic: Mosaic, trained: RunDir) -> None:
    assert mosaic("evaluate", trained.run_id, "--episodes", "2").code == 0
    played = mosaic("play", "CartPole-v1", "--actor", f"policy:{trained.run_id}", "--json")
    assert played.code == 0, played.err
    straight = policy_of(trained).read_bytes()
    step = first_checkpoint(trained).name.removeprefix("step-")
    said = mosaic("resume", trained.run_id, "--from-step", step, "--follow", "--json")
    assert said.code == 0, said.err
    branch = Home.resolve().run(said.objects[-1]["run_id"])
    assert policy_of(branch).read_bytes() == straight
    assert warnings_of(branch) == []


def test_an_edited_file_trains_as_it_is_now_in_the_same_daemon(mosaic: Mosaic, trained: RunDir, file: Path) -> None:
    file.write_text(file.read_text().replace(TAG, TAG + '"charts/mine": 7.0, '))
    said = mosaic("train", "my_search", *STEPS, "--follow", "--json")
    assert said.code == 0, said.err
    run_id = said.objects[-1]["run_id"]
    assert mosaic("metrics", run_id, "--tags", "charts/mine", "--json").objects[0]["values"][0] == 7.0

    evaluated = mosaic("evaluate", trained.run_id, "--episodes", "1")
    assert evaluated.code == 0
    assert "was trained by another version of my_search.py (my_search.py changed)" in evaluated.err
    step = first_checkpoint(trained).name.removeprefix("step-")
    resumed = mosaic("resume", trained.run_id, "--from-step", step, "--follow", "--json").objects[-1]
    [warning] = warnings_of(Home.resolve().run(resumed["run_id"]))
    assert warning.startswith(f"my_search.py is not what it was at step {step} (my_search.py changed)")
    assert warning in mosaic("show", resumed["run_id"]).out
    assert warning in mosaic("show", resumed["run_id"]).out


def test_without_its_file_a_run_says_so_and_what_to_do(
    mosaic: Mosaic, trained: RunDir, file: Path, tmp_path: Path
) -> None:
    text = file.read_text()
    file.unlink()
    resumed = mosaic("resume", trained.run_id)
    assert resumed.code == 2
    assert "was trained by 'my_search', an algorithm of your own, and no file my_search.py lies in an" in resumed.err
    assert f"'mosaic algos copy {trained.run_id} DIR' writes it to a folder" in resumed.err
    for word in (trained.run_id, str(policy_of(trained))):
        evaluated = mosaic("evaluate", word)
        assert evaluated.code == 2
        assert "mosaic algos copy" in evaluated.err
    assert mosaic("train", "my_search").err.startswith("error: algorithm 'my_search' is not known")
    for number, word in enumerate((trained.run_id, str(policy_of(trained)))):
        assert mosaic("algos", "copy", word, str(tmp_path / str(number))).code == 0
        assert (tmp_path / str(number) / "my_search.py").read_text() == text
        assert (tmp_path / str(number) / "beside_it.py").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("def (", "line {line}: invalid syntax"),
        ("import not_to_be_found", "line {line}: cannot be imported: No module named 'not_to_be_found'"),
        ("raise SystemExit(3)", "line {line}: raises SystemExit when it is imported: 3"),
        ("Args = dict", "Args is not a dataclass"),
        ("ACTIONS = 'both'", "ACTIONS is 'both'; it must be 'discrete' or 'multi_discrete' or 'continuous'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_at_submit(mosaic: Mosaic, file: Path, line: str, said: str) -> None:
    text = file.read_text()
    file.write_text(f"{text}{line}\n")
    wanted = said.format(line=text.count("\n") + 1)
    refused = mosaic("train", "my_search", *STEPS)
    assert refused.code == 2
    assert wanted in refused.err
    assert wanted in mosaic("algos").out


def test_a_new_one_is_a_copy_that_runs_at_once(mosaic: Mosaic, tmp_path: Path) -> None:
    said = mosaic("algos", "new", "my_ppo", "--from", "ppo", "--into", str(tmp_path / "made"))
    assert said.code == 0, said.err
    assert (tmp_path / "made" / "test_my_ppo.py").exists()
    small = ("--num-envs", "2", "--num-steps", "32", "--total-timesteps", "256", "--no-tensorboard")
    trained = mosaic("train", "my_ppo", *small, "--follow", "--json")
    assert trained.code == 0, trained.err
    assert "is there already" in mosaic("algos", "new", "my_ppo", "--from", "ppo", "--into", str(tmp_path)).err
    assert "would hide" in mosaic("algos", "new", "dqn", "--from", "ppo", "--into", str(tmp_path)).err
    assert "is not one of bc, bdi_q" in mosaic("algos", "new", "mine", "--from", "pppo", "--into", str(tmp_path)).err
    assert mosaic("algos", "remove", str(tmp_path / "made")).code == 0
    assert mosaic("train", "my_ppo").code == 2


def test_a_file_elsewhere_is_refused_with_the_command_that_allows_it(mosaic: Mosaic, tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path / "elsewhere.py")
    said = mosaic("train", str(tmp_path / "elsewhere.py"))
    assert said.code == 2
    assert said.err.endswith(f"lies in no folder whose algorithms may run; to allow it: mosaic algos add {tmp_path}\n")
    shutil.copy(EXAMPLE, tmp_path / "ppo.py")
    assert "would hide the algorithm 'ppo'" in mosaic("train", str(tmp_path / "ppo.py")).err
    assert "is an algorithm, not a script" in mosaic("train", "--script", str(tmp_path / "elsewhere.py")).err


def test_code_that_a_run_or_a_policy_carries_is_never_run(
    mosaic: Mosaic, trained: RunDir, folder: Path, tmp_path: Path, file: Path
) -> None:
    """A run of another home, with other code in it: what runs is the user's own file."""
    marker, copy = tmp_path / "ran", tmp_path / "copy"
    shutil.copytree(trained.root, copy)
    for path in copy.rglob("*.py"):
        path.write_text(f"from pathlib import Path\nPath({str(marker)!r}).touch()\n{path.read_text()}")
    fresh = f"{trained.run_id[:-1]}{'0' if trained.run_id[-1] != '0' else '1'}"
    record = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(record | {"run_id": fresh, "label": "from afar"}))
    said = mosaic("import", str(copy), "--json")
    assert said.code == 0, said.err
    assert mosaic("resume", fresh, "--follow").code == 0
    assert mosaic("evaluate", fresh, "--episodes", "1").code == 0
    file.unlink()
    assert mosaic("resume", fresh).code == 2
    assert mosaic("evaluate", fresh, "--episodes", "1").code == 2
    assert not marker.exists()
