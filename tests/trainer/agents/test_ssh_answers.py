"""What a host answers is not trusted: it is taken as it should be, or refused in words, and its thread goes on."""

import json
from pathlib import Path

import pytest
from patience import looks

from mosaic import __version__
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.agents.starts import Start
from mosaic.trainer.engines import ssh_connection
from mosaic.trainer.engines.ssh_connection import NoConnection
from mosaic.trainer.engines.ssh_engine import SshNodes, _HostState
from mosaic.trainer.engines.ssh_hosts import Host

GOOD = {"version": __version__, "sockets": "/home/you/.cache/mosaic-agent/s", "cores": 4, "free_bytes": 2**30}


class Answers:
    """A program `ssh` before the real one, which says what a host would."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = folder / "answer"
        self.variables = folder / "variables"
        program = folder / "bin/ssh"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\nenv > {self.variables}\ncat {self.file}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))

    def are(self, answer: object) -> None:
        self.file.write_text(answer if isinstance(answer, str) else json.dumps(answer))


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answers:
    return Answers(tmp_path, monkeypatch)


def start_of(home: Home, agents: Agents) -> Start:
    return agents.begin(new_run_id(), 1, engine="ssh", place="node", assignment={})


@pytest.mark.parametrize(
    "answer",
    [
        [],
        "7",
        "[" * 100_000,
        {key: GOOD[key] for key in GOOD if key != "sockets"},
        GOOD | {"sockets": "/tmp/${WANDB_API_KEY}"},
        GOOD | {"sockets": "/tmp/%h"},
        GOOD | {"sockets": "/tmp/x\n"},
        GOOD | {"sockets": "relative"},
        GOOD | {"sockets": 7},
        GOOD | {"cores": "4"},
        GOOD | {"free_bytes": None},
        GOOD | {"version": ["9"]},
    ],
)
def test_a_host_that_answers_something_else_is_not_used(answers: Answers, answer: object):
    answers.are(answer)
    with pytest.raises(NoConnection, match="node"):
        ssh_connection.prepare("node", Host())


def test_a_good_answer_is_taken_and_the_host_can_get_no_key(answers: Answers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WANDB_API_KEY", "0123456789abcdef")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    answers.are(GOOD)
    assert ssh_connection.prepare("node", Host()).sockets == GOOD["sockets"]
    seen = answers.variables.read_text()
    assert "WANDB_API_KEY" not in seen
    assert "SSH_AUTH_SOCK=/run/agent" in seen


def test_a_thread_of_a_host_outlives_whatever_it_answers(answers: Answers, tmp_path: Path):
    home = Home(tmp_path / "home")
    home.create()
    home.hosts.write_text("[node]\n")
    agents = Agents(home)
    nodes, start = SshNodes(home, agents), start_of(home, agents)
    answers.are({"host": "x", "agent_pid": []})
    nodes._keep_agent("node", Host(), start, {})
    answers.are([])
    nodes.send(start)
    state = nodes._hosts["node"]
    for _ in looks(120):
        if state.problem:
            break
    assert "something else" in state.problem
    assert state.thread is not None
    assert state.thread.is_alive()
    nodes.close()


TUNNELS = """#!/bin/sh
PATH=/usr/bin:/bin
case "$*" in
*" -R "*) echo "$*" >>{words}; echo "tunnel is up"; cat >/dev/null ;;
*) cat >>{words}; echo >>{words}; cat {answer} ;;
esac
"""


def test_a_machine_with_two_names_has_a_tunnel_for_each(
    answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Slots with and without GPUs, say: the end of the one leaves the agents of the other their way home."""
    words, program = tmp_path / "words", tmp_path / "bin/ssh"
    program.write_text(TUNNELS.format(words=words, answer=answers.file))
    answers.are(GOOD)
    home = Home(tmp_path / "home")
    home.create()
    agents = Agents(home)
    nodes, links = SshNodes(home, agents), list[str]()
    for name in ("cpus", "gpus"):
        state = _HostState()
        words.unlink(missing_ok=True)
        nodes._keep_tunnel(name, Host(), state)
        nodes._keep_agent(name, Host(), start_of(home, agents), {})
        assert state.tunnel is not None
        state.tunnel.close()
        _, tunnel, order = [line for line in words.read_text().splitlines() if line]
        links.append(f"{GOOD['sockets']}/{json.loads(order)['home_id']}.sock")
        assert f" {links[-1]}.new && " in tunnel
    assert len(set(links)) == 2
    nodes.close()
