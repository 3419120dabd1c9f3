"""The probe decides within its time, through the proxy that was asked for, and says what is wrong."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mosaic import cli
from mosaic.cli import completion
from mosaic.spec.run_config import TrainOptions, take_secrets
from mosaic.track import wandb_network
from mosaic.track.wandb_network import Network, network_of, probe

from .stand_in import serving

SERVER = "https://wandb.invalid"


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A port at which `serve` handles each connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_a_server_that_answers_is_reachable(home):
    with serving() as server:
        answer = probe(Network(server=server.url))
    assert answer.reachable, answer


def test_a_refused_port_is_told_without_waiting_for_the_limit(home):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    answer = probe(Network(server=f"http://127.0.0.1:{port}"), timeout_s=10_000)
    assert not answer.reachable
    assert "refused" in answer.text


def test_a_proxy_that_accepts_and_never_answers_costs_no_more_than_the_limit(home):
    done = threading.Event()
    with listening(lambda connection: done.wait() and None) as proxy:
        answer = probe(wandb_network.through(proxy, proxy, server=SERVER), timeout_s=0.5)
        done.set()
    assert not answer.reachable
    assert "no answer within 0.5 s" in answer.text
    assert proxy in answer.text


def test_a_proxy_that_closes_is_told(home):
    with listening(lambda connection: None) as proxy:
        for server in (SERVER, "http://wandb.invalid"):
            answer = probe(wandb_network.through(proxy, proxy, server=server))
            assert not answer.reachable


@pytest.mark.parametrize("status", [b"407 Who are you", b"502 Bad Gateway"])
def test_a_proxy_that_refuses_is_not_the_server(home, status):
    with listening(
        lambda connection: connection.sendall(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
    ) as proxy:
        for server in (SERVER, "http://wandb.invalid"):
            answer = probe(wandb_network.through(proxy, proxy, server=server))
            assert not answer.reachable
            assert status[:3].decode() in answer.text


def test_the_password_of_a_proxy_reaches_the_proxy_and_no_text(home):
    heard: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heard.append(connection.recv(4096))

    with listening(serve) as proxy:
        secret = proxy.replace("http://", "http://me:hunter2@")
        way = wandb_network.through(secret, secret, server=SERVER)
        answer = probe(way)
    assert b"Proxy-Authorization: Basic bWU6aHVudGVyMg==" in heard[0]
    assert "hunter2" not in answer.text + way.shown_proxy


def test_off_leaves_the_environment_untouched(home):
    way = network_of(TrainOptions(wandb_http_proxy="http://p:1"), {"WANDB_VPN_HTTP_PROXY": "http://v:1"})
    assert (way.proxy, dict(way.environment)) == ("", {})
    system = network_of(TrainOptions(), {"HTTPS_PROXY": "http://system:3128"})
    assert (system.proxy, dict(system.environment)) == ("http://system:3128", {})


def test_the_variables_of_wandb_itself_come_before_those_of_the_system(home):
    variables = {"WANDB_HTTPS_PROXY": "http://own:1", "WANDB_HTTP_PROXY": "http://plain:1", "HTTPS_PROXY": "http://s:1"}
    own = network_of(TrainOptions(), variables)
    assert (own.proxy, dict(own.environment)) == ("http://own:1", {})
    local = {**variables, "WANDB_BASE_URL": "http://wandb.local:8080"}
    assert network_of(TrainOptions(), local).proxy == "http://plain:1"
    chosen = network_of(TrainOptions(wandb_use_vpn_proxy=True, wandb_https_proxy="http://vpn:1"), variables)
    assert chosen.proxy == "http://vpn:1"
    assert chosen.environment["WANDB_HTTPS_PROXY"] == "http://vpn:1", "W&B would go by its own variable otherwise"


def test_the_probe_goes_through_the_proxy_of_wandb_itself(home):
    asked: list[bytes] = []

    def refuse(connection: socket.socket) -> None:
        asked.append(connection.recv(4096))
        connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

    with listening(refuse) as proxy:
        answer = probe(network_of(TrainOptions(), {"WANDB_BASE_URL": SERVER, "WANDB_HTTPS_PROXY": proxy}))
    assert not answer.reachable
    assert asked[0].startswith(b"CONNECT wandb.invalid:443")


def test_fields_come_before_the_environment_and_that_before_a_file(home, tmp_path: Path):
    on = TrainOptions(wandb_use_vpn_proxy=True)
    variables = {"MOSAIC_HOME": str(home.root)}
    nothing = network_of(on, variables)
    assert "no proxy is named" in nothing.problem
    assert not probe(nothing).reachable
    (home.root / ".env").write_text("# ours\nexport WANDB_VPN_HTTPS_PROXY='http://file:1'\nOTHER=x\n")
    assert network_of(on, variables).environment["HTTPS_PROXY"] == "http://file:1"
    variables["WANDB_VPN_HTTPS_PROXY"] = "http://variable:1"
    assert network_of(on, variables).proxy == "http://variable:1"
    fields = TrainOptions(wandb_use_vpn_proxy=True, wandb_https_proxy="http://field:1")
    assert network_of(fields, variables).proxy == "http://field:1"


def test_a_proxy_that_is_no_address_is_refused(home):
    way = network_of(TrainOptions(wandb_use_vpn_proxy=True, wandb_http_proxy="my proxy"), {})
    assert "is not an address of a proxy" in way.problem
    typed = network_of(TrainOptions(wandb_use_vpn_proxy=True, wandb_http_proxy="me:hunter2@proxy:3128"), {})
    assert "'proxy:3128' is not an address" in typed.problem


def test_the_server_and_the_key_are_found_where_wandb_login_leaves_them(home, tmp_path: Path):
    assert wandb_network.server_of({}) == "https://api.wandb.ai"
    assert not wandb_network.has_key("https://w.example", {})
    (tmp_path / ".config" / "wandb").mkdir(parents=True)
    (tmp_path / ".config" / "wandb" / "settings").write_text("[default]\nbase_url = https://w.example/\n")
    (tmp_path / ".netrc").write_text("machine w.example login user password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    assert wandb_network.server_of({}) == "https://w.example"
    assert wandb_network.has_key("https://w.example", {})
    assert wandb_network.server_of({"WANDB_BASE_URL": "http://127.0.0.1:1/"}) == "http://127.0.0.1:1"


def test_the_probe_of_the_command_line_tells_by_its_exit_code(home, monkeypatch, capsys):
    with serving() as server:
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        assert cli.main(["wandb", "probe", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["reachable"], found["server"], found["has_key"]) == (True, server.url, False)
    assert cli.main(["wandb", "probe"]) == 1
    assert "refused" in capsys.readouterr().out
    assert cli.main(["wandb", "probe", "--proxy", "nonsense"]) == 1
    assert "is not an address of a proxy" in capsys.readouterr().out
    assert cli.main(["wandb", "upload"]) == 2
    assert "there are status, sync, probe" in capsys.readouterr().err
    assert completion.candidates(["wandb", "s"]) == ["status", "sync"]


def test_the_password_of_a_proxy_is_in_no_document_and_still_used(home):
    """A run config goes to the run directory, and from there to every tracker."""
    secret = "http://me:hunter2@proxy:3128"
    extras = {"wandb_use_vpn_proxy": True, "wandb_http_proxy": secret, "wandb_https_proxy": "http://open:1"}
    clean, secrets = take_secrets({"metadata": {"worker": {"config": {"extras": extras}}, "ui": {"form": [extras]}}})
    assert "hunter2" not in json.dumps(clean)
    assert secrets == {"WANDB_VPN_HTTP_PROXY": secret}
    left = clean["metadata"]["worker"]["config"]["extras"]
    assert (left["wandb_http_proxy"], left["wandb_https_proxy"]) == ("http://proxy:3128", "http://open:1")
    way = network_of(TrainOptions(**left), {**secrets, "MOSAIC_HOME": str(home.root)})
    assert (way.environment["HTTP_PROXY"], way.environment["HTTPS_PROXY"]) == (secret, "http://open:1")


def test_a_proxy_of_an_unknown_kind_is_told(home):
    text = probe(wandb_network.through("weird://127.0.0.1", "weird://127.0.0.1", server=SERVER), timeout_s=2).text
    assert "no answer within" not in text
