"""The user's file of hosts: what is taken, and what is said of what is wrong with it."""

from pathlib import Path

import pytest

from mosaic.errors import ConfigError
from mosaic.trainer.engines import ssh_connection, ssh_hosts
from mosaic.trainer.engines.ssh_hosts import Host


def read(tmp_path: Path, text: str):
    (tmp_path / "hosts.toml").write_text(text)
    return ssh_hosts.read(tmp_path / "hosts.toml")


def test_no_file_is_no_hosts(tmp_path: Path):
    assert ssh_hosts.read(tmp_path / "hosts.toml") == {}


def test_the_example_that_users_are_shown_is_a_good_one(tmp_path: Path):
    found = read(tmp_path, ssh_hosts.EXAMPLE)
    assert found["gpu1"] == Host(address="you@gpu1.lab", slots=8, gpus=2, python="/home/you/mosaic/bin/python")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a\n", "cannot be read"),
        ("slots = 4", "stands outside of a table"),
        ("[a]\nslots = 0", "a.slots"),
        ("[a]\nslots = 'four'", "a.slots"),
        ("[a]\ngpu = 1", "a.gpu"),
        ('["-oProxyCommand=x"]\nslots = 1', "not a name of a host"),
        ('[a]\naddress = "-oProxyCommand=x"', "begins with a dash"),
        ('[a]\nssh = "-p 22"', "a.ssh"),
        ('[a]\npython = ""', "a.python"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, text: str, said: str):
    with pytest.raises(ConfigError, match=said):
        read(tmp_path, text)


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, "x = 1\n[a]\nslots = 0\n[b]\ngpus = -1\n")
    assert len(caught.value.problems) == 3


def test_words_for_the_shell_there_are_quoted():
    assert ssh_connection.agent_words(Host(python="/a b/python"), "run", "/x y") == (
        "exec '/a b/python' -P -m mosaic.agent run '/x y'"
    )
    assert ssh_connection.agent_words(Host(python="~/v/bin/python"), "start").startswith("exec ~/v/bin/python ")
    assert "'$(reboot)'" in ssh_connection.agent_words(Host(python="$(reboot)"), "start")
