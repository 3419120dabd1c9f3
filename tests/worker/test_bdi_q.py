"""bdi_q: plans of a user's go with the run, its agents come back into the middle of an episode, the maths is right."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from strict_spool import decode_spool

from cleanrl_worker import cli, evaluate
from cleanrl_worker.algorithms.bdi_q import Args, Coefficients, Learner, Table, sources, table_of
from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.bdi import beliefs, mailbox, plan_copy, plan_file, spade_mailbox
from cleanrl_worker.sdk.bdi.resumable_agent import ResumableAgent
from cleanrl_worker.sdk.bdi.spade_mailbox import SpadeBox
from cleanrl_worker.sdk.policies.open_policy import open_policy
from cleanrl_worker.sdk.policy import RecurrentPolicy, RewardedPolicy
from mosaic.errors import ActorFailed, CheckpointError, EnvironmentFailed
from mosaic.spec.events import RunStarted, Warned
from mosaic.spec.files import source_copy
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.run_dir import RunDir, new_run_id

WAYS = """
{ include("more/walking.asl") }
relevant(position).
!cross.
@low  +!cross <- !walk(2); !cross.
@high +!cross <- !walk(0); !cross.
"""
WALKING = """
+!walk(_) : position(_, Column) & goal(_, Column) <- act(down); !walk(2).
+!walk(Row) : position(Row, _) <- act(right); !walk(Row).
+!walk(Row) <- act(up); !walk(Row).
"""
CLIFF = ("--algo=bdi_q", "--env-id=CliffWalking-v1", "--exploration=0.9", "--quiet", "--no-tensorboard")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "plans" / "more").mkdir(parents=True)
    (tmp_path / "plans" / "more" / "walking.asl").write_text(WALKING)
    file = tmp_path / "plans" / "my ways.asl"
    file.write_text(WAYS)
    return file


def new_run(folder: Path) -> RunDir:
    return RunDir(folder / new_run_id())


def train(folder: Path, *flags: str) -> RunDir:
    run_dir = new_run(folder)
    assert cli.main([*CLIFF, "--run-dir", str(run_dir.root), *flags]) == 0
    return run_dir


def policy_of(run_dir: RunDir) -> Path:
    [path] = run_dir.root.glob("runs/*/*.cleanrl_model")
    return path


def events_of(run_dir: RunDir) -> list[Any]:
    with run_dir.events.open("rb") as lines:
        return [event.body for event in decode_spool(lines)]


def test_own_plans_go_with_the_run_its_checkpoints_and_its_policy(own: Path, tmp_path: Path) -> None:
    straight = train(tmp_path, f"--plans={own}", "--total-timesteps=600")
    stopped = train(tmp_path, f"--plans={own}", "--total-timesteps=300")
    file = policy.read(policy_of(straight))
    assert file.source is not None
    assert dict(file.source.texts) == {"my_ways.asl": WAYS, "more/walking.asl": WALKING}
    [kept] = (straight.root / "source").iterdir()
    assert (kept / "more" / "walking.asl").read_text() == WALKING

    # The run goes on with the plans that it began with, whatever became of the file.
    own.write_text(WAYS.replace("!walk(0)", "!walk(1)"))
    assert cli.main(["--resume", str(stopped.root), "--total-timesteps=600", "--quiet"]) == 0
    told = [body.message for body in events_of(stopped) if isinstance(body, Warned)]
    assert any("my_ways.asl is not what it was when the run began (my_ways.asl changed)" in each for each in told)
    own.unlink()
    assert all(body.exact for body in events_of(stopped) if isinstance(body, RunStarted))
    assert policy.read(policy_of(stopped)).arrays.keys() == file.arrays.keys()
    for name, array in policy.read(policy_of(stopped)).arrays.items():
        assert np.array_equal(array, file.arrays[name]), name
    words = ["--policy-path", str(policy_of(straight)), "--episodes=2", "--quiet", "--deterministic"]
    assert evaluate.main([*words, "--run-dir", str(new_run(tmp_path).root)]) == 0


def test_another_plan_file_is_another_run(own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = train(tmp_path, f"--plans={own}", "--total-timesteps=100")
    assert cli.main(["--resume", str(run_dir.root), "--plans=cliff_routes", "--total-timesteps=200"]) == 2
    assert "start another run for that" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{ include("../secret.asl") }\n+!step <- act(up).',
            "includes '../secret.asl', of which a run can keep no copy",
        ),
        ('{ include("FOLDER/secret.asl") }\n+!step <- act(up).', "secret.asl', of which a run can keep no copy"),
        ("+!step <- act(up)", "unexpected end of file"),
        ("+!step <- .dump.", "no such action '.dump/0'"),
    ],
)
def test_plans_that_cannot_be_kept_or_read_are_refused_before_anything_is_made(
    text: str, said: str, own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secret.asl").write_text("+!nothing <- act(up).\n")
    own.write_text(text.replace("FOLDER", str(tmp_path)))
    run_dir = new_run(tmp_path)
    assert cli.main([*CLIFF, f"--plans={own}", "--run-dir", str(run_dir.root)]) == 2
    assert said in capsys.readouterr().err
    assert not run_dir.root.exists()


def test_an_agent_comes_back_into_the_middle_of_an_episode() -> None:
    plans, told = _cliff()
    generator = np.random.default_rng(3)

    def choose(_: str, names: Any) -> str:
        return str(generator.choice(list(names)))

    def agent(choose: Callable[[str, Any], str] = choose) -> ResumableAgent:
        box = mailbox.Box(Path(), "agent_0")
        return ResumableAgent(plans, told, choose, box, name="agent_0", max_cycles=200_000)

    env, first = gym.make("CliffWalking-v1"), agent()
    state, _ = env.reset(seed=1)
    first.begin(7)
    for _ in range(9):
        state, reward, *_ = env.step(first.act(int(state)))
        first.earn(float(reward))
    saved = first.state()
    second = agent()
    second.load(saved)
    generator = np.random.default_rng(4)
    ahead = [first.act(int(state))]
    generator = np.random.default_rng(4)
    assert [second.act(int(state))] == ahead
    assert second.note == first.note != ""
    changed = {**saved, "actions": 3 - saved["actions"]}
    with pytest.raises(CheckpointError, match="decide otherwise at step 0"):
        agent().load(changed)
    with pytest.raises(CheckpointError, match="offer other choices"):
        agent().load({**saved, "choices": ["@nowhere"]})


class Hub:
    """What SPADE's server does for the boxes of a session, without a server."""

    def __init__(self) -> None:
        self.boxes: dict[str, SpadeBox] = {}
        self.sent: list[str] = []

    def join(self, box: SpadeBox) -> None:
        self.boxes[box.name] = box

    def send(self, sender: str, receivers: Sequence[str], force: str, body: str) -> None:
        self.sent.append(body)
        for name in receivers:
            self.boxes[name].put({"for": name, "ilf": force, "body": body, "source": f"{sender}@localhost"})


TALK = """
!go.
+!go : .my_name(agent_0) <- .broadcast(tell, hello); act(up); !on.
+!go <- act(up); !on.
+!on : hello <- .send(agent_0, tell, thanks); act(right); !on.
+!on : thanks <- act(right); !on.
+!on <- act(up); !on.
"""


def test_what_others_have_said_comes_again_and_is_not_answered_twice(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own.write_text(TALK)
    plans, (_, told) = plan_file.read(own), _cliff()

    def pair(session: str) -> tuple[Hub, list[ResumableAgent]]:
        hub: Any = Hub()
        monkeypatch.setitem(spade_mailbox._offices, Path(session), hub)
        boxes = [SpadeBox(Path(session), f"agent_{slot}", 0) for slot in (0, 1)]
        return hub, [
            ResumableAgent(plans, told, lambda _, names: names[0], box, name=box.name, max_cycles=200_000)
            for box in boxes
        ]

    hub, first = pair("first")
    for agent in first:
        agent.begin(1)
    acts = [agent.act(36) for _ in range(2) for agent in first]
    assert acts == [0, 0, 0, 1]
    assert hub.sent == ["hello", "thanks"]
    again, second = pair("second")
    for agent, before in zip(second, first, strict=True):
        agent.load(before.state())
    assert again.sent == []
    assert [agent.act(36) for agent in second] == [agent.act(36) for agent in first] == [1, 1]
    assert again.sent == ["thanks"]


def _cliff() -> tuple[Any, beliefs.Beliefs]:
    copy = sources(Args(env_id="CliffWalking-v1"), {})
    assert copy is not None
    return plan_copy.program_of(copy), beliefs.of_environment("CliffWalking-v1", {})


def test_a_plan_of_several_steps_is_worth_what_it_earned_and_what_follows() -> None:
    """Against the sum written out, step by step."""
    learner = Learner(Table(), Coefficients(0.5, 0.9, 0.0, 1), slots=2)
    generator = np.random.default_rng(0)
    learner.table.row("b", ["x"])["x"][0] = 10.0
    for slot in (0, 1):
        assert learner.choose("a", ["p"], generator, slot) == "p"
    for reward in (1.0, 2.0, 3.0):
        learner.earn(reward, 0)
    learner.choose("b", ["x"], generator, 0)
    wanted = 0.5 * (1 + 0.9 * 2 + 0.81 * 3 + 0.729 * 10)
    assert learner.table.rows["a"]["p"] == [pytest.approx(wanted), 1]
    learner.earn(4.0, 1)
    learner.end(terminated=True, slot=1)
    assert learner.table.rows["a"]["p"] == [pytest.approx(wanted + 0.5 * (4 - wanted)), 2]
    # Cut off: what would have come is not known.
    learner.earn(5.0, 0)
    learner.end(terminated=False, slot=0)
    assert learner.table.rows["b"]["x"] == [10.0, 0]


def test_beliefs_of_a_policy_are_those_of_the_simulator() -> None:
    told = beliefs.of_environment("Taxi-v4", {})
    assert beliefs.from_text(told.to_text()) == told
    assert len(told.seen) == 500
    assert {fact.name for fact in told.known} == {"size", "place", "wall"}


def test_a_map_that_changes_is_refused() -> None:
    lake = "gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv"
    gym.register("test/ChanceLake-v0", lake, kwargs={"map_name": None})
    try:
        with pytest.raises(EnvironmentFailed, match="another map each time"):
            beliefs.of_environment("test/ChanceLake-v0", {})
    finally:
        del gym.registry["test/ChanceLake-v0"]


def test_a_policy_hears_what_its_actions_earn(own: Path, tmp_path: Path) -> None:
    own.write_text("+!step : reward(R) & R < 0 <- act(right).\n+!step <- act(up).\n")
    path = policy_of(train(tmp_path, f"--plans={own}", "--total-timesteps=1"))
    _, actor = open_policy(path)
    assert isinstance(actor, RecurrentPolicy)
    assert isinstance(actor, RewardedPolicy)
    here, generator = np.eye(48, dtype=np.float32)[[36, 36]], np.random.default_rng(0)
    assert actor.act(here, generator, deterministic=True).tolist() == [0, 0]
    actor.rewarded(np.array([-1.0, 0.0]))
    assert actor.act(here, generator, deterministic=True).tolist() == [1, 0]
    actor.forget(np.array([True, False]))
    assert actor.act(here, generator, deterministic=True).tolist() == [0, 0]


class Line(gym.Env[int, int]):
    """Numbered states and actions, and nothing more is known of it."""

    observation_space = gym.spaces.Discrete(3, start=1)
    action_space = gym.spaces.Discrete(2, start=5)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.place = 2
        return self.place, {}

    def step(self, action: int) -> Any:
        self.place += 1 if action == 6 else -1
        return self.place, float(self.place == 3), self.place != 2, False, {}


@pytest.fixture
def line() -> Iterator[str]:
    gym.register("test/Line-v0", Line)
    yield "test/Line-v0"
    del gym.registry["test/Line-v0"]


def test_one_plan_for_each_action_learns_where_no_plans_are_shipped(line: str, tmp_path: Path) -> None:
    with pytest.raises(ActorFailed, match=r"no plans are shipped for .*, or take one plan for each action, 'actions'"):
        sources(Args(env_id=line), {})
    path = policy_of(train(tmp_path, f"--env-id={line}", "--plans=actions", "--total-timesteps=100"))
    file, actor = open_policy(path)
    assert set(table_of(file.group("agent")).rows) == {"!step when state(2)"}
    assert actor.act(np.eye(3, dtype=np.float32)[[1]], np.random.default_rng(0), deterministic=True).tolist() == [1]
    explained: Any = actor
    assert explained.explain(None)["note"].startswith("step; @action_6 of @action_5 0, @action_6 ")


def test_code_and_plans_of_a_copy_are_told_apart() -> None:
    code, plans = (
        SourceCopy("mine.py", {"mine.py": "x", "nets.py": "y"}),
        SourceCopy("a.asl", {"a.asl": "1", "b.asl": "2"}),
    )
    both = source_copy.joined(code, plans)
    assert both is not None
    again = source_copy.from_json(both.to_json())
    assert (source_copy.code_of(again), source_copy.data_of(again)) == (code, plans)
    assert (source_copy.code_of(plans), source_copy.data_of(code)) == (None, None)
    assert source_copy.joined(None, plans) == plans
