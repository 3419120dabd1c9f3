"""Who acts: random, a script, a policy; and what is said of those who cannot."""

import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.sdk import main as train
from mosaic.errors import ActorFailed, ConfigError, IncompatibleSpaces, MissingExtra
from mosaic.play import actors
from mosaic.play.actor import Context
from mosaic.play.arenas.arena import Arena
from mosaic.spec.actors import ActorDescriptor
from mosaic.spec.run_dir import Home, new_run_id


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PPO policy that is far better than chance."""
    run_dir = Home(tmp_path_factory.mktemp("trained")).run(new_run_id())
    flags = "--env-id CartPole-v1 --total-timesteps 25000 --num-envs 4 --quiet --no-tensorboard --no-fastlane-enabled"
    assert train("ppo", [*flags.split(), "--run-dir", str(run_dir.root)]) == 0
    return next(run_dir.root.rglob("*.cleanrl_model"))


@pytest.fixture
def context(tmp_path: Path) -> Callable[..., Context]:
    def make(env_id: str = "CartPole-v1", **more: Any) -> Context:
        home = Home(tmp_path)
        arena = Arena(env_id, pictures=False)
        return Context(arena=arena, seat="agent_0", home=home, run_dir=home.run(new_run_id()), **more)

    return make


def test_a_trained_policy_plays_better_than_chance(play: Callable[..., Any], policy: Path) -> None:
    score = {}
    for who in (f"policy:{policy}", "random"):
        played = play("CartPole-v1", who, episodes=10)
        assert played.code == 0
        score[who] = sum(episode["return"] for episode in played.summary["episodes"]) / 10
    assert score[f"policy:{policy}"] > 3 * score["random"]


def test_a_policy_is_found_by_the_id_of_its_run(policy: Path, context: Callable[..., Context]) -> None:
    from mosaic.play.actors.policy import find

    run_dir = policy.parents[2]
    assert find(run_dir.name, Home(run_dir.parents[2])) == policy


def test_a_policy_of_another_environment_is_refused_with_both_spaces(
    play: Callable[..., Any], policy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert play("Acrobot-v1", f"policy:{policy}", episodes=1).code == 2
    said = capsys.readouterr().err
    assert "trained in CartPole-v1" in said
    assert "Acrobot-v1" in said


def test_a_script_acts_and_sees(play: Callable[..., Any], tmp_path: Path) -> None:
    script = tmp_path / "lean.py"
    script.write_text("def select_action(view):\n    return int(view.observation[2] + view.observation[3] > 0)\n")
    played = play("CartPole-v1", f"scripted:{script}", episodes=3)
    assert played.code == 0
    assert all(episode["return"] > 100 for episode in played.summary["episodes"])
    assert played.episodes[0].steps[0].actor == f"scripted:{script}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def select_action(view:\n", "line 1"),
        ("import nothing_like_this\n", "nothing_like_this"),
        ("x = 1\n", "neither select_action"),
        ("def select_action(view):\n    return 7\n", "7, which is not an action of Discrete(2)"),
        ("def select_action(view):\n    raise ValueError('out of ideas')\n", "out of ideas"),
    ],
)
def test_a_script_that_is_wrong_ends_the_run_with_its_reason(
    play: Callable[..., Any], tmp_path: Path, text: str, reason: str
) -> None:
    script = tmp_path / "wrong.py"
    script.write_text(text)
    played = play("CartPole-v1", f"scripted:{script}", episodes=1)
    assert played.code == 2
    assert played.events[-1]["kind"] == "run.failed"
    assert reason in played.events[-1]["message"]


@pytest.mark.parametrize(
    ("word", "error", "reason"),
    [
        ("randm", ActorFailed, "did you mean 'random'"),
        ("policy", ActorFailed, "needs to know which"),
        ("random:7", ActorFailed, "takes nothing"),
        ("scripted:/nowhere.py", ConfigError, "lies in no folder whose scripts may run"),
    ],
)
def test_a_word_that_names_no_actor_says_what_would(
    context: Callable[..., Context], word: str, error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        actors.make(word, context())


def test_a_space_that_no_key_fills_is_said_to_be_none_for_a_person(tmp_path: Path) -> None:
    human = actors.module_of("human").DESCRIPTOR
    assert human.misfit(action="multi_discrete") == "Person knows discrete and continuous actions, not multi_discrete"
    assert human.misfit(action="discrete", observation="pixels", family="atari") == ""


class Plugin:
    """What an entry point of a user's package may load."""

    DESCRIPTOR = ActorDescriptor(id="constant", label="Constant", description="Always zero.", actions=("discrete",))

    @staticmethod
    def make(_: str, context: Context) -> Any:
        from mosaic.play.actors.scripted import ScriptedActor

        return ScriptedActor(type("Zero", (), {"select_action": staticmethod(lambda _: 0)}))


def test_a_plugin_adds_an_actor(
    play: Callable[..., Any], context: Callable[..., Context], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = importlib.metadata.EntryPoint("constant", f"{__name__}:Plugin", actors.ENTRY_POINTS)
    bad = importlib.metadata.EntryPoint("broken", "no.such.module", actors.ENTRY_POINTS)
    load = importlib.metadata.EntryPoint.load
    monkeypatch.setattr(importlib.metadata.EntryPoint, "load", lambda self: Plugin if self == good else load(self))
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [good, bad])
    found = {descriptor.id: descriptor for descriptor in actors.descriptors()}
    assert found["constant"].label == "Constant"
    assert found["random"].installed
    assert not found["broken"].installed
    assert "cannot be used" in found["broken"].description
    assert {step.action for step in play("CartPole-v1", "constant", episodes=1).episodes[0].steps} == {0}
    with pytest.raises(IncompatibleSpaces, match="not continuous"):
        actors.make("constant", context("Pendulum-v1"))
    monkeypatch.setattr(
        Plugin, "DESCRIPTOR", ActorDescriptor(id="constant", label="", description="", extra="bdi", installed=False)
    )
    with pytest.raises(MissingExtra, match="bdi"):
        actors.make("constant", context())
