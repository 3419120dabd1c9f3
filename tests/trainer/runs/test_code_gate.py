"""The daemon and its workers run no code that is not in an allowed folder, whatever a submit names."""

import json
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker import cli
from mosaic.errors import ConfigError
from mosaic.rpc.client import Refused
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.run_dir import Home, new_run_id

ACTOR = "from pathlib import Path\nPath({marker!r}).touch()\ndef select_action(view): return 0\n"
SCRIPT = "from pathlib import Path\nPath({marker!r}).touch()\n"


def play(actor: str) -> dict[str, Any]:
    extras = {"mode": "play", "actors": {"agent_0": actor}, "video_mode": "off", "episodes": 1}
    worker = {"env_id": "CartPole-v1", "seed": 1, "extras": extras}
    return {
        "environment": {"env_id": "CartPole-v1"},
        "artifacts": {},
        "metadata": {"worker": {"module": "mosaic.play", "config": worker}},
    }


def train(path: str) -> dict[str, Any]:
    worker = {"algo": path, "env_id": "CartPole-v1", "total_timesteps": 1, "extras": {"algo_params": {}}}
    return {
        "environment": {"env_id": "CartPole-v1"},
        "artifacts": {"tensorboard": {"enabled": False}},
        "metadata": {"worker": {"config": worker}},
    }


@pytest.mark.parametrize("make", [lambda path: play(f"scripted:{path}"), train])
def test_a_submit_of_code_that_is_not_allowed_is_refused_with_the_command(shared, tmp_path, make):
    marker = tmp_path / "ran"
    code = tmp_path / "code.py"
    code.write_text(ACTOR.format(marker=str(marker)))
    known = len(shared.client.list())
    for call in (shared.client.submit, lambda document: shared.client.validate(document)):
        try:
            reply = call(make(str(code)))
            assert not reply.ok
            said = reply.output
        except Refused as error:
            said = str(error)
        assert f"mosaic scripts add {tmp_path}" in said
    assert len(shared.client.list()) == known
    assert not marker.exists()


def test_an_actor_of_an_allowed_folder_plays_and_finds_what_lies_beside_it(shared, tmp_path):
    (tmp_path / "helper.py").write_text("def choose(): return 1\n")
    (tmp_path / "numpy.py").write_text("raise RuntimeError('the one beside the script')\n")
    code = tmp_path / "code.py"
    code.write_text("import helper\nimport numpy\nnumpy.zeros(1)\ndef select_action(view): return helper.choose()\n")
    Allowed(shared.home).add(tmp_path)
    try:
        run = shared.client.submit(play(f"scripted:{code}"))[0]
        shared.until(run.run_id, "finished")
        with pytest.raises(Refused, match="where runs are kept"):
            shared.client.submit(play(f"scripted:{shared.home.run(run.run_id).root}/x.py"))
    finally:
        Allowed(shared.home).remove(tmp_path)


def test_a_worker_asks_again(tmp_path, monkeypatch, capsys):
    """A config that came to be in another way than by a submit: a damaged one, or of a run that was taken in."""
    marker, home = tmp_path / "ran", Home(tmp_path / "home")
    home.create()
    monkeypatch.setenv("MOSAIC_HOME", str(home.root))
    code, config = tmp_path / "code.py", tmp_path / "config.json"
    code.write_text(SCRIPT.format(marker=str(marker)))
    config.write_text(json.dumps(train(str(code))))
    words = ["--config", str(config), "--run-dir", str(home.run(new_run_id()).root)]
    assert cli.main(words) == ConfigError.exit_code
    assert f"mosaic scripts add {tmp_path}" in capsys.readouterr().err
    assert not marker.exists()
    # A link to what may run brings nothing that lies beside the link.
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "good.py").write_text("")
    Allowed(home).add(mine)
    link = tmp_path / "link.py"
    link.symlink_to(mine / "good.py")
    config.write_text(json.dumps(train(str(link))))
    assert cli.main([*words, "--dry-run"]) == 0
    assert str(mine / "good.py") in capsys.readouterr().out


def test_the_play_worker_asks_again(tmp_path, monkeypatch, capsys):
    from mosaic.play import worker

    marker, home = tmp_path / "ran", Home(tmp_path / "home")
    home.create()
    monkeypatch.setenv("MOSAIC_HOME", str(home.root))
    code, config = tmp_path / "code.py", tmp_path / "config.json"
    code.write_text(ACTOR.format(marker=str(marker)))
    config.write_text(json.dumps(play(f"scripted:{code}")))
    words = ["--config", str(config), "--run-dir", str(home.run(new_run_id()).root)]
    assert worker.main(words) == ConfigError.exit_code
    assert f"mosaic scripts add {tmp_path}" in capsys.readouterr().err
    assert not marker.exists()
    assert not Path(tmp_path / "__pycache__").exists()
