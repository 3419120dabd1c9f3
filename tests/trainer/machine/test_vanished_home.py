"""A home that is removed or moved away under its daemon is not begun anew; a daemon that was stopped stays so."""

import pytest

from mosaic.errors import HomeVanished
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonStopped, bring_back, running_address, was_stopped


def test_no_second_home_is_begun_beside_a_living_daemon(daemons, kit):
    daemon = daemons("--no-warm").start()
    root = daemon.home.root
    log = daemon.log.open()
    client = daemon.client
    elsewhere = root.rename(root.with_name("moved"))
    with pytest.raises(HomeVanished, match=f"process id {daemon.process.pid}"):
        Client(home=daemon.home)
    with pytest.raises(HomeVanished):
        bring_back(daemon.home)
    assert not root.exists()

    # The daemon notices, says so, and ends without leaving anything in the old place.
    assert daemon.process.wait(120) == HomeVanished.exit_code
    assert not root.exists()
    assert "daemon.home_gone" in log.read()
    with pytest.raises(HomeVanished):
        bring_back(daemon.home)
    client.close()
    log.close()

    elsewhere.rename(root)
    assert daemon.start().client.list() == []


def test_a_daemon_that_was_told_to_stop_is_not_brought_back(daemons, kit):
    daemon = daemons("--no-warm").start()
    daemon.client.shutdown()
    assert daemon.process.wait(120) == 0
    assert was_stopped(daemon.home)
    with pytest.raises(DaemonStopped, match="was stopped; 'mosaic daemon start'"):
        bring_back(daemon.home)
    assert running_address(daemon.home) is None

    daemon.start()
    assert not was_stopped(daemon.home)
    daemon.kill()
    assert not was_stopped(daemon.home), "killed, not stopped"
    daemon.start()
    daemon.stop()
    assert was_stopped(daemon.home)
