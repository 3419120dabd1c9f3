"""One gate for all code that a run config may choose: allowed folders only, after symlinks, and never a run's own."""

from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import ConfigError
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.code_gate import code_of, refuse_code
from mosaic.spec import run_config
from mosaic.spec.run_config import WorkerConfig
from mosaic.spec.run_dir import Home


def trains(path: Path | str, module: str = "") -> WorkerConfig:
    extras = {"algo_params": {"script_module": module} if module else {}}
    return run_config.parse_worker({"algo": str(path), "env_id": "CartPole-v1", "extras": extras})


def plays(**actors: Any) -> WorkerConfig:
    extras = {"mode": "play", "actors": {seat: str(actor) for seat, actor in actors.items()}}
    return run_config.parse_worker({"env_id": "CartPole-v1", "extras": extras})


@pytest.fixture
def allowed(tmp_path: Path) -> Allowed:
    home = Home(tmp_path / "home")
    home.create()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "good.py").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "bad.py").write_text("")
    made = Allowed(home)
    made.add(tmp_path / "mine")
    return made


@pytest.mark.parametrize("config", [trains, lambda path: plays(one=f"scripted:{path}")])
def test_code_of_an_allowed_folder_may_run_and_no_other(config: Any, allowed: Allowed, tmp_path: Path) -> None:
    refuse_code(config(tmp_path / "mine" / "good.py"), allowed)
    with pytest.raises(ConfigError, match=f"mosaic scripts add {tmp_path / 'other'}$"):
        refuse_code(config(tmp_path / "other" / "bad.py"), allowed)
    link = tmp_path / "mine" / "link.py"
    link.symlink_to(tmp_path / "other" / "bad.py")
    with pytest.raises(ConfigError, match="lies in no folder"):
        refuse_code(config(link), allowed)
    with pytest.raises(ConfigError, match="lies in no folder"):
        refuse_code(config(tmp_path / "mine" / ".." / "other" / "bad.py"), allowed)


def test_every_seat_is_asked_and_every_refusal_told(allowed: Allowed, tmp_path: Path) -> None:
    worker = plays(one="random", two=f"scripted:{tmp_path / 'other' / 'bad.py'}", three="scripted:/nowhere/a b.py")
    with pytest.raises(ConfigError) as refused:
        refuse_code(worker, allowed)
    places = [problem.path for problem in refused.value.problems]
    assert places == ["metadata.worker.config.extras.actors.two", "metadata.worker.config.extras.actors.three"]
    assert "mosaic scripts add /nowhere" in refused.value.problems[1].message


def test_what_lies_among_the_runs_never_runs(allowed: Allowed, tmp_path: Path) -> None:
    allowed.add(tmp_path)
    script = tmp_path / "home" / "trainer" / "runs" / "x.py"
    script.write_text("")
    link = tmp_path / "mine" / "link.py"
    link.symlink_to(script)
    for path in (script, link):
        with pytest.raises(ConfigError, match="where runs are kept"):
            refuse_code(trains(path), allowed)
        with pytest.raises(ConfigError, match="where runs are kept"):
            refuse_code(plays(one=f"scripted:{path}"), allowed)
    refuse_code(trains(tmp_path / "other" / "bad.py"), allowed)


def test_a_link_in_a_run_to_an_allowed_script_imports_beside_the_script(allowed: Allowed, tmp_path: Path) -> None:
    link = tmp_path / "home" / "trainer" / "runs" / "x.py"
    link.symlink_to(tmp_path / "mine" / "good.py")
    assert allowed.real_path(link) == tmp_path / "mine" / "good.py"
    assert allowed.read(str(link)).path == tmp_path / "mine" / "good.py"


def test_a_module_whose_package_lies_in_a_folder_that_is_not_allowed_is_refused(
    allowed: Allowed, tmp_path: Path
) -> None:
    # It would put the folder above, and all that lies there, before every library.
    with pytest.raises(ConfigError, match=f"mosaic scripts add {tmp_path}$"):
        refuse_code(trains(tmp_path / "mine" / "good.py", "mine.good"), allowed)
    inner = tmp_path / "mine" / "inner"
    inner.mkdir()
    (inner / "mine").symlink_to(tmp_path / "mine")
    with pytest.raises(ConfigError, match=f"mosaic scripts add {tmp_path}$"):
        refuse_code(trains(inner / "mine" / "good.py", "mine.good"), allowed)
    refuse_code(trains(tmp_path / "mine" / "good.py", "good"), allowed)


@pytest.mark.parametrize("path", ["x.py", "./x.py", "/a\0b.py", "~nobody-of-this-name/x.py", f"/{'d/' * 5000}x.py"])
def test_a_path_that_is_none_is_refused_with_a_reason(allowed: Allowed, path: str) -> None:
    for worker in (trains(path), plays(one=f"scripted:{path}")):
        with pytest.raises(ConfigError, match=r"path of a file|lies in no folder"):
            refuse_code(worker, allowed)


def test_the_command_of_a_refusal_works(allowed: Allowed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A folder as wide as the user's own is never allowed, so the refusal does not propose it.
    monkeypatch.setenv("HOME", str(tmp_path / "other"))
    with pytest.raises(ConfigError, match="move it into a folder of its own"):
        refuse_code(trains(tmp_path / "other" / "bad.py"), allowed)


def test_runs_without_code_of_a_user_pass(allowed: Allowed) -> None:
    assert list(code_of(trains("ppo"), allowed)) == []
    assert list(code_of(plays(one="random", two="policy:01K9", three="bdi:plan.asl"), allowed)) == []
