"""A language model plays: against a real server of the protocol, with all the faults that real ones have."""

import base64
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import ActorFailed
from mosaic.play import actors
from mosaic.play.actor import Context, View
from mosaic.play.arenas.arena import Arena
from mosaic.spec.run_dir import Home, new_run_id

from . import chat_server as chat

KEY = "sk-very-secret-key-0123456789"
QUICK = {"backoff_s": 0.01, "timeout_s": 5.0}


@pytest.fixture
def server() -> Iterator[chat.ChatServer]:
    with chat.serving() as made:
        yield made


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """One action of the model; the choice, and the transcript."""

    def asked(server: chat.ChatServer, env_id: str = "CliffWalking-v1", *, legal: Any = None, **params: Any) -> Any:
        monkeypatch.setenv("MOSAIC_LLM_API_KEY", KEY)
        home = Home(tmp_path)
        given = {"base_url": server.url, "model": "test", **QUICK, **params}
        arena = Arena(env_id, pictures=bool(params.get("image")))
        context = Context(arena=arena, seat="agent_0", home=home, run_dir=home.run(new_run_id()), params=given)
        actor = actors.make("llm", context)
        with closing(arena), closing(actor):
            observation = arena.reset(1)
            actor.reset(1)
            picture = arena.render() if params.get("image") else None
            view = View(observation=observation, step=0, seat="agent_0", legal=legal, picture=picture)
            try:
                return actor.select_action(view)
            finally:
                path = context.run_dir.root / "actors" / "llm-agent_0.jsonl"
                asked.said = [json.loads(line) for line in path.read_text().splitlines()]  # type: ignore[attr-defined]

    return asked


@pytest.mark.parametrize("constrain", ["schema", "tool", "none"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_model_plays_an_episode_from_what_the_prompt_says(
    play: Callable[..., Any], server: chat.ChatServer, constrain: str, stream: bool
) -> None:
    params = {"base_url": server.url, "constrain": constrain, "stream": stream, "price_input": 2, "price_output": 10}
    played = play("CliffWalking-v1", "llm:tiny", episodes=1, actor_params={"llm": params})
    assert played.code == 0
    assert [episode["return"] for episode in played.summary["episodes"]] == [-13]
    told = played.summary["actors"]["agent_0"]
    assert (told["model"], told["requests"], told["input_tokens"], told["output_tokens"]) == ("tiny", 13, 1300, 130)
    assert told["cost"] == pytest.approx((1300 * 2 + 130 * 10) / 1e6)
    body = server.requests[-1]
    assert ("response_format" in body, "tools" in body) == (constrain == "schema", constrain == "tool")
    assert len(body["messages"]) == 1 + 2 * 4 + 1
    assert "slippery" not in body["messages"][0]["content"].split("What is known")[1]
    assert "cliff(3, 1)" in body["messages"][0]["content"]
    said = (played.run_dir.root / "actors" / "llm-agent_0.jsonl").read_text()
    kinds = [json.loads(line)["kind"] for line in said.splitlines()]
    assert kinds == ["session"] + 13 * ["prompt", "attempt", "action"]


@pytest.mark.parametrize(
    ("manner", "stream", "reason"),
    [
        (chat.refuses(500, "boiler"), False, "boiler"),
        (chat.refuses(503, "busy"), True, "busy"),
        (chat.refuses(429, "slow down"), False, "slow down"),
        (chat.babbles, False, "not a chat completion"),
        (chat.breaks_off, False, "broke off its answer"),
        (chat.breaks_off_the_stream, True, "broke off its answer"),
        (chat.ends_the_stream_early, True, "ended in the middle"),
        (chat.errs_in_the_stream, True, "out of memory"),
        (chat.hangs, False, "has not answered within 1.5 s"),
        (chat.drips, True, "has not answered within 1.5 s"),
    ],
)
def test_a_fault_that_may_pass_is_tried_again_and_said_if_it_stays(
    ask: Callable[..., Any], manner: chat.Manner, stream: bool, reason: str
) -> None:
    timeout_s = 1.5 if "1.5 s" in reason else 300
    with chat.serving(manner) as server:
        assert ask(server, stream=stream, timeout_s=timeout_s).action == 0
        assert [line.get("status") for line in ask.said if line["kind"] == "attempt"][-1] == 200  # type: ignore[attr-defined]
        assert len(server.requests) == 2
    with chat.serving(manner, manner) as server, pytest.raises(ActorFailed, match=r"after 2 tries") as caught:
        ask(server, stream=stream, timeout_s=timeout_s, retries=1)
    assert reason in str(caught.value)
    assert server.url in str(caught.value)


@pytest.mark.parametrize(
    ("manner", "reason"),
    [
        (chat.refuses(400, "what is a response_format?"), "set constrain to 'tool' or 'none'"),
        (chat.refuses(401, f"bad key {KEY}"), "is MOSAIC_LLM_API_KEY set"),
        (chat.refuses(404, "no such model"), "no such model; is the address right"),
        (chat.refuses(307, "elsewhere", Location="http://127.0.0.1:9/v1"), "redirects to http://127.0.0.1:9/v1"),
        (chat.refuses(429, "tomorrow", Retry_After="86400"), "tomorrow"),
    ],
)
def test_a_fault_that_stays_is_said_at_once(ask: Callable[..., Any], manner: chat.Manner, reason: str) -> None:
    with chat.serving(manner) as server:
        with pytest.raises(ActorFailed) as caught:
            ask(server)
        assert len(server.requests) == 1
    assert reason in str(caught.value)
    assert KEY not in str(caught.value)
    assert KEY not in json.dumps(ask.said)  # type: ignore[attr-defined]


def test_it_waits_as_long_as_the_endpoint_asks(ask: Callable[..., Any]) -> None:
    with chat.serving(chat.refuses(429, "later", Retry_After="0.7")) as server:
        began = time.monotonic()
        assert ask(server).action == 0
        assert time.monotonic() - began >= 0.7


def test_an_answer_that_is_no_action_is_corrected_and_said_if_it_stays(ask: Callable[..., Any]) -> None:
    with chat.serving(chat.says("I would jump"), chat.says('```json\n{"action": "jump"}\n```')) as server:
        server.answer = lambda _: 'Well: {"reason": "so", "action": "Up"} it is.'
        assert ask(server).action == 0
        last = server.requests[-1]["messages"]
        assert [message["role"] for message in last] == ["system", "user", *2 * ["assistant", "user"]]
        assert "'jump' is not one of the actions up, right, down, left" in last[-1]["content"]
    with chat.serving(*3 * [chat.says('{"move": 1}')]) as server, pytest.raises(ActorFailed) as caught:
        ask(server)
    assert 'gives no action (3 answers): the JSON object has no "action"' in str(caught.value)


def test_the_schema_holds_only_what_is_allowed(ask: Callable[..., Any]) -> None:
    with chat.serving(chat.says('{"action": "up"}')) as server:
        server.answer = lambda _: '{"reason": "", "action": "right"}'
        assert ask(server, legal=[0, 1, 1, 0]).action == 1
        schema = server.requests[0]["response_format"]["json_schema"]["schema"]
        assert schema["properties"]["action"]["enum"] == ["right", "down"]


def test_continuous_actions_are_lists_within_their_bounds(ask: Callable[..., Any]) -> None:
    with chat.serving(chat.says('{"action": [9.0]}'), chat.says('{"action": [1, 2]}')) as server:
        server.answer = lambda _: '{"reason": "", "action": [-1.5]}'
        assert ask(server, "Pendulum-v1").action.tolist() == [-1.5]
        assert "-2 to 2" in server.requests[0]["messages"][0]["content"]
        assert "angular_velocity" in server.requests[0]["messages"][1]["content"]


def test_a_model_that_may_look_gets_the_picture(ask: Callable[..., Any], server: chat.ChatServer) -> None:
    from PIL import Image

    ask(server, image=True)
    text, picture = server.requests[0]["messages"][-1]["content"]
    assert "position(3, 0)" in text["text"]
    kind, _, data = picture["image_url"]["url"].partition(",")
    assert kind == "data:image/png;base64"
    assert max(Image.open(io.BytesIO(base64.b64decode(data))).size) == 512
    assert data not in json.dumps(ask.said)  # type: ignore[attr-defined]


def test_a_session_renders_for_a_model_that_may_look(play: Callable[..., Any], server: chat.ChatServer) -> None:
    params = {"base_url": server.url, "model": "eyes", "image": True}
    assert play("CliffWalking-v1", "llm", episodes=1, actor_params={"llm": params}).code == 0
    assert all(isinstance(body["messages"][-1]["content"], list) for body in server.requests)


def test_spending_stops_at_what_it_may_cost(play: Callable[..., Any], server: chat.ChatServer) -> None:
    params = {"base_url": server.url, "model": "dear", "price_input": 1000, "price_output": 0, "max_cost": 0.5}
    played = play("CliffWalking-v1", "llm", episodes=1, actor_params={"llm": params})
    assert played.code == 2
    assert "max_cost is 0.5" in played.events[-1]["message"]
    assert len(server.requests) == 5
    assert len(played.episodes[0].steps) == 5


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"base_url": ""}, "set MOSAIC_LLM_BASE_URL"),
        ({"model": ""}, "set MOSAIC_LLM_MODEL"),
        ({"base_url": "ftp://x/v1"}, "not an http or https address"),
        ({"base_url": "http://me:word@127.0.0.1/v1"}, "must not hold a password"),
        ({"max_cost": 1.0}, "needs price_input"),
        ({"prompt": "/nowhere.txt"}, "cannot be read"),
        ({"prompt": "unknown.txt"}, r"has \$weather; it may have \$environment"),
        ({"prompt": "whole.txt"}, "has no line '---'"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    ask: Callable[..., Any], server: chat.ChatServer, tmp_path: Path, params: dict[str, Any], reason: str
) -> None:
    (tmp_path / "unknown.txt").write_text("You are $environment\n---\n$weather\n")
    (tmp_path / "whole.txt").write_text("You are $environment\n")
    if "prompt" in params:
        params = {"prompt": str(tmp_path / params["prompt"])}
    with pytest.raises(ActorFailed, match=reason):
        ask(server, **params)


def test_a_prompt_of_the_user_is_used(ask: Callable[..., Any], server: chat.ChatServer, tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("Costs $$1. $actions\n---\n$observation")
    ask(server, prompt=str(tmp_path / "own.txt"))
    assert [message["content"] for message in server.requests[0]["messages"]] == [
        "Costs $1. up, right, down, left",
        "- position(3, 0)",
    ]


@pytest.mark.parametrize(
    ("env_id", "options"), [("rps_v2", {}), ("CliffWalking-v1", {"lockstep": True})], ids=["together", "copies"]
)
def test_those_who_choose_at_the_same_time_are_asked_at_the_same_time(
    play: Callable[..., Any], env_id: str, options: dict[str, Any]
) -> None:
    both_are_there = threading.Barrier(2, timeout=300)

    def answer(body: dict[str, Any]) -> str:
        both_are_there.wait()
        if env_id == "CliffWalking-v1":
            return chat.along_the_edge(body)
        actions = body["response_format"]["json_schema"]["schema"]["properties"]["action"]["enum"]
        return json.dumps({"reason": "", "action": actions[len(body["messages"][-1]["content"]) % len(actions)]})

    with chat.serving(answer=answer) as server:
        params = {"llm": {"base_url": server.url, "model": "test", "retries": 0}}
        played = play(env_id, {"1": "llm", "2": "llm"}, episodes=1, actor_params=params, **options)
    assert played.code == 0
    [game] = played.episodes
    seats = list(game.head.seats)
    assert [step.seat for step in game.steps] == seats * (len(game.steps) // 2), "recorded in the order of the seats"
    steps = {seat: [line["step"] for line in _said(played, seat) if line["kind"] == "prompt"] for seat in seats}
    if env_id == "rps_v2":
        again = play(env_id, dict.fromkeys(seats, f"replay:{game.path}")).summary["replay"]
        assert again["exact"], again
        assert [steps[seat][:2] for seat in seats] == [[0, 2], [1, 3]], "each sees the step at which its turn is"
    else:
        assert steps[seats[0]] == steps[seats[1]] == list(range(13))


def _said(played: Any, seat: str) -> list[dict[str, Any]]:
    path = played.run_dir.root / "actors" / f"llm-{seat}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]
