"""BDI agents that talk by SPADE: with each other, and with a SPADE-BDI agent of another program."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agentspeak import GoalType, Literal, Trigger

from cleanrl_worker.sdk.bdi.spade_mailbox import SpadeBox
from mosaic.errors import ActorFailed

TELL = (Trigger.addition, GoalType.belief)
COACH = """
import asyncio, sys
import loguru, spade
from spade_bdi.bdi import BDIAgent

async def main():
    loguru.logger.remove()
    coach = BDIAgent("coach@localhost", "whistle", sys.argv[1], port=int(sys.argv[2]))
    await coach.start(auto_register=True)
    while not (heard := coach.bdi.get_belief("score")):
        await asyncio.sleep(0.02)
    print(heard)
    await coach.stop()

spade.run(main())
"""


@pytest.mark.parametrize("actor", ["bdi", "bdi_spade"])
def test_the_seats_of_a_game_talk(actor: str, play: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "open.asl").write_text("!play.\n+!play <- .send(player_1, tell, plays(rock)); act(rock); !play.\n")
    (tmp_path / "sly.asl").write_text(
        "!play.\n+!play : plays(rock)[source(player_0)] <- act(paper); !play.\n+!play <- act(scissors); !play.\n"
    )
    seats = {"player_0": f"{actor}:{tmp_path / 'open.asl'}", "player_1": f"{actor}:{tmp_path / 'sly.asl'}"}
    played = play("classic/rps-v2", seats, episodes=2)
    assert played.code == 0
    # The first move is chosen before the first message is read; whatever comes after it, each episode anew, is lost.
    assert [episode.returns for episode in played.episodes] == 2 * [{"player_0": -13.0, "player_1": 13.0}]


def test_an_agent_of_another_program_talks_with_a_seat(tmp_path: Path) -> None:
    (tmp_path / "coach.py").write_text(COACH)
    (tmp_path / "coach.asl").write_text('!advise.\n+!advise <- .send("player_1@localhost", tell, advice(scissors)).\n')
    box = SpadeBox(tmp_path, "player_1", 0)
    try:
        command = [sys.executable, str(tmp_path / "coach.py"), str(tmp_path / "coach.asl"), str(box.port)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as coach:
            try:
                [(meaning, message)] = box.wait(300)
                assert meaning == TELL
                assert str(message) == 'advice(scissors)[source("coach@localhost")]'
                box.send(["coach@localhost"], (TELL, Literal("score", (3,))))
                assert coach.communicate(timeout=300)[0].strip() == "score(3)"
            finally:
                coach.kill()
        with pytest.raises(KeyError, match="stranger"):
            box.send(["stranger"], (TELL, Literal("score", (3,))))
        # One that is taken is said to be.
        with pytest.raises(ActorFailed, match=f"port {box.port} of 127.0.0.1 cannot be used: Address already in use"):
            SpadeBox(tmp_path / "other", "player_1", box.port)
    finally:
        box.leave()
