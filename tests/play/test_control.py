"""A session obeys its controls at once, whatever its actors and its environment do."""

import json
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mosaic.rpc.client import Client, Refused
from mosaic.rpc.play_socket import PlaySocket
from mosaic.spec import episode_file


class Table:
    """A session and its controls."""

    def __init__(self, client: Client, run_id: str, eventually: Callable[..., Any]) -> None:
        self.client = client
        self.run_id = run_id
        self._eventually = eventually
        self.link = self._connected()
        self.answers: list[Any] = []

    def _connected(self) -> Any:
        socket = self.client.home.run(self.run_id).play_socket
        self._eventually(lambda: socket.exists() or self.client.get(self.run_id).state in ("failed", "lost"))
        return self.client.play(self.run_id)

    def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first state for which this is so."""
        for state in self.link:
            if "status" not in state:
                self.answers.append(state)
            elif holds(state):
                return state
        raise AssertionError("the session ended before")

    def tap(self, key: str) -> None:
        """Down and up at once: a key that stays down acts again."""
        self.link.send("keys", down=[key])
        self.link.send("keys", down=[])

    def do(self, word: str, **values: Any) -> str:
        """A command, and the reason why it was refused."""
        self.link.send(word, id=word, **values)
        for state in self.link:
            if state.get("id") == word and "status" not in state:
                return str(state["error"])
        raise AssertionError("the session ended before")


@pytest.fixture
def sit(client: Client, kit: Any) -> Callable[..., Any]:
    @contextmanager
    def sitting(env_id: str, actor: str, **options: Any) -> Generator[Table]:
        [run] = client.submit(kit.document(env_id, actor, interactive=True, **{"episodes": 0, **options}))
        table = Table(client, run.run_id, kit.eventually)
        with closing(table.link):
            yield table
            client.cancel(run.run_id)
        kit.eventually(lambda: client.get(run.run_id).state in ("finished", "failed", "cancelled"))

    return sitting


def test_a_session_pauses_steps_resets_and_ends_as_it_is_told(sit: Callable[..., Any], client: Client) -> None:
    with sit("CartPole-v1", "random", paused=True, speed=1.0) as table:
        assert table.until(lambda state: state["status"] == "paused")["t"] == 0
        assert client.health().cpu_slots_used == 0, "a session takes no slot from trainings"
        assert table.do("step") == ""
        assert table.until(lambda state: state["t"] == 1)["status"] == "paused"
        assert table.do("step", steps=3) == ""
        table.until(lambda state: state["t"] == 4)
        assert table.do("reset", seed=77) == ""
        begun = table.until(lambda state: state["episode"] == 2)
        assert (begun["t"], begun["seed"], begun["status"]) == (0, 77, "paused")
        assert table.do("speed", speed=0) == ""
        assert table.do("continue") == ""
        table.until(lambda state: state["episode"] > 4)
        assert table.do("pause") == ""
        assert table.until(lambda state: state["status"] == "paused")["reason"] == "paused"
        assert "not a command" in table.do("dance")
        assert "not complete" in table.do("speed")
        table.link.send("stop")
        table.until(lambda state: state["status"] == "ended")
        [ended] = client.wait(table.run_id)
    assert ended.state == "finished"
    assert episode_file.read(client.home.run(table.run_id).episode(1)).end.outcome == "stopped"  # type: ignore[union-attr]


def test_a_person_takes_over_shares_and_hands_back(sit: Callable[..., Any]) -> None:
    with sit("FrozenLake-v1", "random", paused=True, speed=0) as table:
        assert table.do("control", control="human") == ""
        assert table.do("continue") == ""
        waiting = table.until(lambda state: state["status"] == "waiting")
        assert waiting["keys"]["keys"]["Right"] == 2
        table.tap("Right")
        moved = table.until(lambda state: state["t"] == 1)
        assert (moved["last"]["actor"], moved["last"]["action"]) == ("human", 2)
        # An edited map holds at once; a wrong one is refused and changes nothing.
        assert table.do("keymap", map={"keys": {"W": 3}, "idle": None}) == ""
        assert "not an action" in table.do("keymap", map={"keys": {"W": 9}})
        table.tap("W")
        assert table.until(lambda state: state["t"] == 2)["last"]["action"] == 3
        # In turns: the person's action is answered by one of the agent's.
        assert table.do("reset") == ""
        assert table.do("control", control="turns") == ""
        table.link.send("act", action=0)
        both = table.until(lambda state: state["t"] == 2)
        assert both["last"]["actor"] == "random"
        assert table.do("control", control="agent") == ""
        table.until(lambda state: state["episode"] > 4)
        assert "not one of" in table.do("control", control="stranger")
    seats = episode_file.read(table.client.home.run(table.run_id).episode(2))
    assert [step.actor for step in seats.steps[:2]] == ["human", "random"]


def test_a_key_overrides_the_agent_for_one_step(sit: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "left.py"
    script.write_text("def select_action(view):\n    return 3\n")
    with sit("CliffWalking-v1", f"scripted:{script}", paused=True, control="override") as table:
        table.do("step")
        assert table.until(lambda state: state["t"] == 1)["last"]["action"] == 3
        table.do("keys", down=["Up"])
        table.do("keys", down=[])
        table.do("step")
        overridden = table.until(lambda state: state["t"] == 2)
        assert (overridden["last"]["action"], overridden["last"]["actor"]) == (0, "human")
        table.do("step")
        assert table.until(lambda state: state["t"] == 3)["last"]["action"] == 3


def test_an_actor_that_raises_pauses_the_session_and_another_one_goes_on(
    sit: Callable[..., Any], tmp_path: Path
) -> None:
    script = tmp_path / "tired.py"
    script.write_text("def select_action(view):\n    if view.step == 3: raise ValueError('too tired')\n    return 0\n")
    with sit("Acrobot-v1", f"scripted:{script}") as table:
        stopped = table.until(lambda state: state["status"] == "paused")
        assert "too tired" in stopped["reason"]
        assert stopped["t"] == 3
        assert "did you mean" in table.do("actor", actor="rando")
        assert table.do("actor", actor="random") == ""
        assert table.do("continue") == ""
        table.until(lambda state: state["t"] > 5)
    recorded = episode_file.read(table.client.home.run(table.run_id).episode(1))
    assert [step.actor for step in recorded.steps[:4]] == [f"scripted:{script}"] * 3 + ["random"]


def test_an_actor_that_stalls_pauses_the_session_which_still_obeys(sit: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "asleep.py"
    script.write_text("import time\ndef select_action(view):\n    time.sleep(1000)\n")
    with sit("CartPole-v1", f"scripted:{script}", actor_timeout_s=0.3) as table:
        stopped = table.until(lambda state: state["status"] == "paused")
        assert "has not answered for 0.3 s" in stopped["reason"]
        assert table.do("control", control="human") == ""
        assert table.do("continue") == ""
        table.link.send("keys", down=["Left"])
        assert table.until(lambda state: state["t"] == 1)["last"]["actor"] == "human"


def test_an_environment_that_raises_is_made_anew_when_a_person_says_so(sit: Callable[..., Any], client: Client) -> None:
    with sit("strange_envs:Raises-v0", "random") as table:
        stopped = table.until(lambda state: state["status"] == "paused")
        assert "the gears jammed" in stopped["reason"]
        assert stopped["t"] == 4
        assert table.do("continue") == ""
        table.until(lambda state: (state["episode"], state["t"]) > (2, 6))
    assert len(episode_file.read(client.home.run(table.run_id).episode(1)).steps) == 4


def test_an_environment_that_hangs_is_reported_and_does_not_keep_the_session_from_ending(
    sit: Callable[..., Any], client: Client, kit: Any
) -> None:
    with sit("strange_envs:Hangs-v0", "random", stall_s=0.5) as table:
        stalled = table.until(lambda state: state["status"] == "stalled")
        assert "step() has not come back" in stalled["reason"]
        client.cancel(table.run_id)
        [ended] = client.wait(table.run_id)
    assert ended.state == "cancelled"
    assert ended.reason.startswith("ended by the user; ")
    assert "step() has not come back" in ended.reason
    assert len(episode_file.read(client.home.run(table.run_id).episode(1)).steps) == 4
    # No client is there to see it: the run fails by itself, with the reason.
    [run] = client.submit(kit.document("strange_envs:Hangs-v0", "random", episodes=1, stall_s=0.5))
    [alone] = client.wait(run.run_id)
    assert (alone.state, alone.exit_code) == ("failed", 4)
    assert "step() has not come back" in alone.reason


def test_a_replay_goes_to_any_step_and_back(sit: Callable[..., Any], client: Client, kit: Any) -> None:
    [run] = client.submit(kit.document("CartPole-v1", "random", seed=9, episodes=1, record_observations=True))
    client.wait(run.run_id)
    recorded = episode_file.read(client.home.run(run.run_id).episode(1))
    with sit("CartPole-v1", f"replay:{run.run_id}/1", paused=True) as table:
        for step in (7, 2, len(recorded.steps), 5):
            assert table.do("seek", step=step) == ""
            state = table.until(lambda state, step=step: state["t"] == step)
            assert state["observation"]["numbers"] == recorded.steps[step - 1].observation
        assert table.do("continue") == ""
        end = table.until(lambda state: "ends here" in state["reason"])
        assert end["replay"]["exact"]
        assert table.do("seek", step=3) == ""
        assert table.until(lambda state: state["t"] == 3)["status"] == "paused"


def test_a_run_that_is_no_living_session_takes_no_commands(client: Client, kit: Any) -> None:
    [run] = client.submit(kit.document("CartPole-v1", "random", episodes=1))
    client.wait(run.run_id)
    link = client.play(run.run_id)
    with closing(link), pytest.raises(Refused, match="not a living play session"):
        next(iter(link))
    assert json.loads(client.home.run(run.run_id).play_summary.read_text())["episodes"][0]["outcome"] == "terminated"


def test_a_client_of_the_same_machine_talks_to_the_session_itself(sit: Callable[..., Any], client: Client) -> None:
    with sit("CliffWalking-v1", "human") as table:
        table.until(lambda state: state["status"] == "waiting")
        run_dir = client.home.run(table.run_id)
        with closing(PlaySocket(run_dir)) as near:
            near.send("keys", id="up", down=["Up"])
            near.send("keys", id="off", down=[])
            heard = next(state for state in near if state.get("id") == "off")
            assert heard["error"] == ""
            assert table.until(lambda state: state["t"] >= 1)["last"]["actor"] == "human"
            near.send("stop")
            # It hears the last state, and then the end.
            assert [state["status"] for state in near if "status" in state][-1] == "ended"
    with pytest.raises(FileNotFoundError):
        PlaySocket(run_dir)
    run_dir.play_socket.symlink_to(client.home.socket)
    with pytest.raises(FileNotFoundError, match="a link"):
        PlaySocket(run_dir)
