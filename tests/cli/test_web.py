"""`mosaic web` over HTTP and its WebSocket: who is let in, what is told, what is refused."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from web_server import MOSAIC, PATIENCE_S, Channel, WebServer, web_server
from websockets.exceptions import ConnectionClosed, InvalidStatus

from mosaic.errors import ConfigError
from mosaic.spec import run_record
from mosaic.spec.events import Event, Scalars, encode
from mosaic.spec.logs.log_times import RECORD
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import Placed
from mosaic.spec.states import TERMINAL, RunState
from mosaic.trainer.logs.merged_log import MOST_LOOKED_AT
from mosaic.web.server_room import SOCKETS
from mosaic.web.web_address import checked

Mosaic = Callable[..., Any]
RETURN = "charts/episodic_return"
XSS = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>"


@pytest.fixture(scope="module")
def web(mosaic: Mosaic) -> Iterator[WebServer]:
    """One that only looks."""
    with web_server() as server:
        yield server


@pytest.fixture(scope="module")
def control(mosaic: Mosaic) -> Iterator[WebServer]:
    with web_server("--allow-control") as server:
        yield server


def test_a_link_lets_one_browser_in_and_is_void_then(mosaic: Mosaic) -> None:
    with web_server(enters=False) as server:
        assert server.ask("/").status == 200, "the page holds nothing, and asks for the link"
        assert server.ask("/api/about").status == 401
        assert server.enter("no-token").status == 403
        first = server.enter()
        flags = {part.strip() for part in first.headers["set-cookie"].split(";")[1:]}
        assert flags == {"Path=/", "HttpOnly", "SameSite=Strict"}
        assert server.ask("/api/about").json == {"control": False, "target": ""}
        old = server.cookie
        assert server.enter(server.token).status == 403
        assert server.enter(server.next_link()).status == 200
        assert server.cookie != old
        assert server.ask("/api/about", headers={"Cookie": old}).status == 200
        name = server.cookie.partition("=")[0]
        assert server.ask("/api/about", headers={"Cookie": f"{name}={'A' * 43}"}).status == 401


STRANGE: list[dict[str, str | None]] = [
    {"Host": "evil.example"},
    {"Host": "127.0.0.1.evil.example:1"},
    {"Host": "evil.example:{port}"},
    {"Host": None},
    {"Host": ""},
    {"Host": "[::ffff:10.0.0.1]:{port}"},
    {"Host": "user@evil.example"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]
"""What a page of another site, or one that rebinds its name to this machine, would send."""


@pytest.mark.parametrize("strange", STRANGE, ids=str)
def test_another_site_is_refused_over_http_and_websocket(web: WebServer, strange: dict[str, str | None]) -> None:
    given = {name: value and value.replace("{port}", str(web.port)) for name, value in strange.items()}
    answer = web.ask("/api/about", headers=given)
    assert answer.status in (400, 403, 421), answer
    assert b"control" not in answer.body
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Origin": web.origin,
    }
    assert web.ask("/live", headers=upgrade | given).status in (400, 403, 421)


def test_the_websocket_wants_cookie_and_origin(web: WebServer) -> None:
    with pytest.raises(InvalidStatus):
        web.live()  # no origin
    with pytest.raises(InvalidStatus):
        web.live(Origin=web.origin, Cookie="")
    with web.live(Origin=web.origin) as socket:
        assert next(Channel(socket, "machine"))["state"] in ("connecting", "connected")


def test_a_name_of_the_tunnel_is_let_in(web: WebServer) -> None:
    """`ssh -L 9999:127.0.0.1:PORT`: another port, and so another origin, on both sides."""
    given = {"Host": "localhost:9999", "Origin": "http://localhost:9999"}
    assert web.ask("/api/about", headers=given).status == 200


def test_every_answer_has_the_headers_that_keep_scripts_of_others_out(web: WebServer, finished: str) -> None:
    for path in ("/", "/files/studio.js", "/api/about", f"/run/{finished}", "/nothing"):
        headers = web.ask(path).headers
        assert headers["content-security-policy"].startswith("default-src 'self'")
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_a_page_of_its_own_address_for_each_view(web: WebServer, finished: str) -> None:
    pages = {
        web.ask(path).body
        for path in ("/", f"/run/{finished}?tab=log", "/compare?run=a", "/sweeps", "/sweep/x", "/statistics", "/new")
    }
    assert len(pages) == 1
    assert web.ask("/files/studio.js").headers["content-type"].startswith("text/javascript")
    assert web.ask("/files/digests.json").status == 404
    assert web.ask("/files/..%2fapplication.py").status == 404


def traversals() -> list[str]:
    """A thousand ways out of a run directory."""
    ups = ("..", "%2e%2e", "..%2f..", "....//..", "..\\..", "..%5c..", ".%00./..", "..;", "%252e%252e", "․․")
    targets = ("config.json", "daemon.token", "index.sqlite", "../daemon.lock", "etc/passwd")
    found = [
        f"{start}{'/'.join([up] * depth)}/{target}"
        for up in ups
        for depth in range(1, 6)
        for target in targets
        for start in ("", "/", "logs/", "./")
    ]
    assert len(set(found)) == 1000
    return found


def test_a_thousand_paths_lead_nowhere(web: WebServer, finished: str) -> None:
    from urllib.parse import quote

    with web.live(Origin=web.origin):
        pass
    for number, path in enumerate(traversals()):
        # Half of them as they are, half as a parameter should be written.
        written = path.replace(" ", "+").replace("\\", "%5c") if number % 2 else quote(path, safe="")
        answer = web.ask(f"/api/runs/{finished}/file?path={quote(written, safe='%/.;')}")
        assert answer.status in (400, 404), (path, answer)
        assert answer.headers["content-type"].startswith("application/json")
    for path in ("/../../etc/passwd", "/files/../../../etc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd"):
        assert web.ask(path).status in (400, 404, 405), path


def test_a_file_is_a_download_whatever_is_in_it(web: WebServer, mosaic: Mosaic, finished: str) -> None:
    run_dir = Home.resolve().run(finished).root
    (run_dir / "page.html").write_text("<script>alert(1)</script>")
    (run_dir / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    (run_dir / "film.mp4").write_bytes(bytes(range(256)) * 40)
    (run_dir / "secret").symlink_to("/etc/passwd")
    for name in ("page.html", "drawing.svg", "events.jsonl"):
        answer = web.ask(f"/api/runs/{finished}/file?path={name}")
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.body == (run_dir / name).read_bytes()
    assert web.ask(f"/api/runs/{finished}/file?path=secret").status in (400, 404)

    film = web.ask(f"/api/runs/{finished}/file?path=film.mp4", headers={"Range": "bytes=250-261"})
    assert (film.status, film.headers["content-type"]) == (206, "video/mp4")
    assert film.headers["content-range"] == "bytes 250-261/10240"
    assert film.body == bytes([*range(250, 256), *range(6)])
    assert web.ask(f"/api/runs/{finished}/file?path=film.mp4", headers={"Range": "bytes=99999-"}).status == 416
    endless = "9" * 5000
    for asked, status, length in (
        (f"bytes=5-{endless}", 206, 10235),
        (f"bytes=5-{2**70}", 206, 10235),
        (f"bytes={endless}-", 416, 0),
        (f"bytes={2**70}-{endless}", 416, 0),
        ("bytes=9-5", 416, 0),
    ):
        part = web.ask(f"/api/runs/{finished}/file?path=film.mp4", headers={"Range": asked})
        assert (part.status, len(part.body)) == (status, length), asked[:30]
    listed = {one["path"]: one for one in web.ask(f"/api/runs/{finished}/artifacts").json["files"]}
    assert listed["film.mp4"]["shown"] == "video/mp4"
    assert "secret" not in listed


def test_the_table_is_that_of_the_command_line(web: WebServer, mosaic: Mosaic, finished: str) -> None:
    with web.live(Origin=web.origin) as socket:
        table = next(Channel(socket, "table", filter="label:short", columns=["label", "lr", f"{RETURN}.auc", "state"]))
        assert [head["name"] for head in table["columns"]] == ["label", "learning_rate", f"{RETURN}.auc", "state"]
        [row] = [row for row in table["rows"] if row["run"] == finished]
        assert row["cells"][0] == "short one"
        assert row["cells"][1] == "0.00025"
        grouped = next(Channel(socket, "table", 2, filter=f"run:{finished}", group=["algo", "env"]))
        assert grouped["groups"][0]["runs"] == [finished]
        wrong = next(Channel(socket, "table", 3, filter="lr<cheap"))
        assert wrong["problem"] == "'cheap' is not a number; write 1e-3, 300k or 2M"
        assert wrong["at"] == [3, 8]


def test_curves_hold_every_value_that_was_logged(web: WebServer, mosaic: Mosaic, finished: str) -> None:
    [logged] = mosaic("metrics", finished, "--tags", RETURN, "--json").objects
    with web.live(Origin=web.origin) as socket:
        groups = [{"name": "one", "runs": [finished]}]
        curve = next(Channel(socket, "curves", tags=[RETURN], groups=groups))
        assert (curve["run"], curve["tag"], curve["from"]) == (finished, RETURN, 0)
        values = logged["values"]
        assert curve["rows"] == len(values) == curve["data"]["count"].sum()
        assert curve["data"]["low"].min() == min(values)
        assert curve["data"]["high"].max() == max(values)
        mean = (curve["data"]["mean"] * curve["data"]["count"]).sum() / len(values)
        assert mean == pytest.approx(sum(values) / len(values))
    part = web.ask(f"/api/runs/{finished}/points?tag={RETURN}&from=0&to=3000")
    assert part.headers["content-type"] == "application/octet-stream"
    for number in (str(2**63), str(2**70), "9" * 5000, "1e6", ""):
        for asked in (f"points?tag={RETURN}&from={number}", f"points?tag={RETURN}&to={number}", f"log?stdout={number}"):
            refused = web.ask(f"/api/runs/{finished}/{asked}")
            assert (refused.status, "whole numbers, at most" in refused.json["error"]) == (400, True), asked[:60]


def test_a_run_in_two_groups_is_drawn_in_both(web: WebServer, finished: str) -> None:
    groups = [{"name": name, "runs": [finished]} for name in ("one", "two")]
    with web.live(Origin=web.origin) as socket:
        curves = Channel(socket, "curves", tags=[RETURN], groups=groups)
        drawn = list(iter(curves.__next__, {"c": 1, "whole": True}))
        assert [(curve["group"], curve["run"]) for curve in drawn] == [(0, finished), (1, finished)]
        assert drawn[0]["rows"] == drawn[1]["rows"] > 0
        twice = next(Channel(socket, "curves", 2, tags=[RETURN], groups=[{"name": "x", "runs": [finished] * 2}]))
        assert "each run once" in twice["error"]
        assert "at least one" in next(Channel(socket, "curves", 3, tags=[], groups=groups))["error"]


def test_more_curves_than_there_is_room_for_are_refused_and_said(web: WebServer) -> None:
    groups = [{"name": "many", "runs": [f"01K9CG05J5Y0FFQMT1T920E{number:03}" for number in range(100)]}]
    asked: dict[str, Any] = {"tags": [f"tag/{number}" for number in range(24)], "groups": groups}
    with web.live(Origin=web.origin) as socket:
        full = 0
        while "error" not in (told := next(Channel(socket, "curves", full + 1, **asked))):
            assert told["whole"]
            full += 1
        assert "take all the room" in told["error"]
        assert 4 <= full <= 8
        socket.send(json.dumps({"c": 1}))
        assert next(Channel(socket, "curves", full + 1, **asked))["whole"], "what is closed makes room"


def test_pages_beyond_the_bound_are_refused_with_the_reason(web: WebServer) -> None:
    with ExitStack() as pages:
        for _ in range(SOCKETS):
            assert "state" in next(Channel(pages.enter_context(web.live(Origin=web.origin)), "machine"))
        one_more = pages.enter_context(web.live(Origin=web.origin))
        with pytest.raises(ConnectionClosed) as closed:
            one_more.recv(timeout=PATIENCE_S)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, "close one" in closed.value.rcvd.reason) == (1013, True)
    with web.live(Origin=web.origin) as socket:
        for number in range(24):
            assert "state" in next(Channel(socket, "machine", number))
        assert "at most 24 channels" in next(Channel(socket, "machine", 24))["error"]


def test_a_table_that_waits_for_the_daemon_holds_up_no_other(web: WebServer, mosaic: Mosaic, finished: str) -> None:
    daemon = json.loads(Home.resolve().lock.read_text())["pid"]
    with web.live(Origin=web.origin) as socket:
        table = next(Channel(socket, "table", filter="label:short", columns=["label"]))
        assert table["rows"]
        os.kill(daemon, signal.SIGSTOP)
        try:
            # No table has shown this metric so far: it must come from the daemon.
            Channel(socket, "table", 2, columns=["losses/entropy.auc"])
            Channel(socket, "table", 3, columns=["label", "state"])
            told: Any = {"c": 0}
            while told["c"] not in (2, 3):
                told = json.loads(socket.recv(timeout=PATIENCE_S))
        finally:
            os.kill(daemon, signal.SIGCONT)
        assert told["c"] == 3
        while told["c"] != 2:
            told = json.loads(socket.recv(timeout=PATIENCE_S))
        assert told["columns"][0]["name"] == "losses/entropy.auc"


def test_settings_log_and_comparison_are_those_of_the_command_line(
    web: WebServer, mosaic: Mosaic, finished: str
) -> None:
    settings = {line["name"]: line for line in web.ask(f"/api/runs/{finished}/settings").json["lines"]}
    assert settings["num_envs"]["cells"] == ["4"]
    assert settings["Steps asked for"]["cells"] == ["3,000"]
    compared = web.ask(f"/api/compare?run={finished}&run={finished}").json
    assert [run["name"] for run in compared["runs"]] == ["short one"] * 2
    with web.live(Origin=web.origin) as socket:
        page = next(Channel(socket, "log", run=finished, sources=["stdout"]))
        assert page["lines"][-1][3] == mosaic("logs", "--tail", "1", finished).out.strip()
    few = web.ask(f"/api/statistics?group={finished}")
    assert few.json[0]["iqm"]["low"] is None, "no interval of one run"
    assert web.ask("/api/statistics?group=--help").status == 400
    unknown = web.ask("/api/statistics?group=nonsense")
    assert (unknown.status, "'nonsense' is not known" in unknown.json["error"]) == (400, True)


def test_a_log_is_told_whose_newest_megabytes_are_metrics(
    web: WebServer, mosaic: Mosaic, until: Callable[..., None]
) -> None:
    """The daemon looks at 8 MiB in one call: a long run has logged so many curves since its last line."""
    run_dir = Home.resolve().run(new_run_id())
    run_dir.create()
    run_dir.stdout.write_bytes(b"".join(b"line %d\n" % number for number in range(10)))
    run_dir.stdout_times.write_bytes(RECORD.pack(0.0, 0) + RECORD.pack(1.7e9, run_dir.stdout.stat().st_size))
    drawn = Scalars(global_step=1, values={"x" * 1000: 1.0})
    data = "".join(f"{encode(Event(seq, 1.7e9 + seq, drawn))}\n" for seq in range(1, 9000)).encode()
    assert len(data) > MOST_LOOKED_AT
    run_dir.events.write_bytes(data)
    run_record.write(run_dir, Placed(run_id=run_dir.run_id, state=RunState.FINISHED, algo="ppo", env_id="x", attempt=1))
    until(lambda: web.ask(f"/api/runs/{run_dir.run_id}/log").status == 200)
    with web.live(Origin=web.origin) as socket:
        page = next(page for page in Channel(socket, "log", run=run_dir.run_id) if page["is_start"])
    assert page["fresh"]
    assert [line[3] for line in page["lines"]] == [f"line {number}" for number in range(10)]
    end = f"stdout={run_dir.stdout.stat().st_size}&events={len(data)}"
    older = web.ask(f"/api/runs/{run_dir.run_id}/log?{end}").json
    assert (len(older["lines"]), older["is_start"]) == (10, True)
    shutil.rmtree(run_dir.root)


def test_what_is_written_on_a_run_is_told_as_text(web: WebServer, control: WebServer, finished: str) -> None:
    answer = control.ask(
        f"/api/runs/{finished}/label", method="POST", body={"label": XSS, "notes": XSS, "tags": "paper, a b"}
    )
    assert answer.status == 200, answer
    try:
        assert answer.json["tags"] == ["a", "b", "paper"]
        with web.live(Origin=web.origin) as socket:
            told = next(Channel(socket, "run", run=finished))
            assert (told["run"]["label"], told["run"]["notes"]) == (XSS, XSS)
        compared = web.ask(f"/api/compare?run={finished}")
        assert compared.headers["content-type"].startswith("application/json")
    finally:
        body = {"label": "short one", "notes": "", "tags": ""}
        assert control.ask(f"/api/runs/{finished}/label", method="POST", body=body).json["label"] == "short one"


def test_one_that_only_looks_changes_nothing(web: WebServer, finished: str) -> None:
    for path in ("/api/runs", f"/api/runs/{finished}/cancel", f"/api/runs/{finished}/label", "/api/sweeps/x/cancel"):
        assert web.ask(path, method="POST", body={"label": "x"}).status in (404, 405)
    assert web.ask("/api/form").status == 404


def test_a_change_needs_the_origin_and_json(control: WebServer, finished: str) -> None:
    path = f"/api/runs/{finished}/label"
    assert control.ask(path, method="POST", headers={"Origin": None}).status == 403
    assert control.ask(path, method="POST", headers={"Origin": "http://evil.example"}).status == 403
    assert control.ask(path, method="POST", headers={"Cookie": None}).status == 401
    assert control.ask(path, method="POST", headers={"Content-Type": "text/plain"}).status == 415
    assert control.ask(path, method="POST", body=b"[" * 100_000).status == 400
    long = control.ask(path, method="POST", headers={"Content-Length": str(2**30)})
    assert long.status == 413
    for length in (None, "7", "9" * 19, "9" * 20):
        # In chunks a body is as long as it likes, whatever length it says.
        chunked = {"Transfer-Encoding": "chunked", "Content-Length": length}
        piece = b" " * 2**16
        body = b"%x\r\n%s\r\n" % (len(piece), piece) * 40 + b"2\r\n{}\r\n0\r\n\r\n"
        assert control.ask(path, method="POST", headers=chunked, body=body).status in (400, 413), length


def test_a_run_is_started_from_the_form_paused_and_cancelled(
    control: WebServer, mosaic: Mosaic, until: Callable[..., None], state: Callable[[str], str]
) -> None:
    form = control.ask("/api/form").json
    assert {one["name"] for one in form["algorithms"]} >= {"ppo", "dqn"}
    assert "save_model" in form["options"]["properties"]
    config: dict[str, Any] = {
        "algo": "ppo",
        "env_id": "resting:Resting-v0",
        "total_timesteps": 100_000_000,
        "seed": 5,
        "extras": {"algo_params": {"gamma": 2}},
    }
    document = {
        "run_name": "from the page",
        "environment": {"env_id": "resting:Resting-v0"},
        "artifacts": {"tensorboard": {"enabled": True}},
        "metadata": {"worker": {"config": config}},
    }
    body = {"document": document, "client_key": "of the page", "seeds": "", "priority": 0}
    refused = control.ask("/api/runs", method="POST", body=body)
    assert refused.status == 400
    assert "gamma" in refused.json["error"]
    config["extras"]["algo_params"]["gamma"] = 0.9
    for priority in (2**31, 1e30):
        refused = control.ask("/api/runs", method="POST", body=body | {"priority": priority})
        assert (refused.status, "does not fit into a request" in refused.json["error"]) == (400, True)
    [run_id] = control.ask("/api/runs", method="POST", body=body).json["runs"]
    assert control.ask("/api/runs", method="POST", body=body).json["runs"] == [run_id], "a retry makes no second run"
    until(lambda: state(run_id) == "running")
    with control.live(Origin=control.origin) as socket:
        told = Channel(socket, "run", run=run_id)
        assert next(message for message in told if message["run"]["state"] == "running")["run"]["verbs"] == [
            "pause",
            "cancel",
        ]
        assert control.ask(f"/api/runs/{run_id}/pause", method="POST").status == 200
        next(message for message in told if message["run"]["state"] == "paused")
        assert control.ask(f"/api/runs/{run_id}/cancel", method="POST").status == 200
        next(message for message in told if message["run"]["state"] in TERMINAL)


def test_pictures_wait_for_a_page_that_has_not_painted_yet(control: WebServer, endless: str) -> None:
    """At most two are under way; all else goes on meanwhile."""
    with control.live(Origin=control.origin) as socket:
        frames = Channel(socket, "frames", run=endless)
        first = next(frame for frame in frames if "data" in frame)
        assert first["data"][:3] == b"\xff\xd8\xff", "a JPEG"
        assert len(first["tiles"]) == first["across"] * first["down"] or first["across"] * first["down"] >= 1
        second = next(frame for frame in frames if "data" in frame)
        assert second["number"] > first["number"]
        other = Channel(socket, "run", 2, run=endless)
        kinds = []
        for _ in range(3):
            message = socket.recv(timeout=60)
            kinds.append(type(message))
            if isinstance(message, str) and json.loads(message)["c"] == 2:
                break
        assert kinds[-1] is str
        assert bytes not in kinds, "a third picture came without an acknowledgement"
        frames.ack()
        assert other.number == 2
        assert next(frame for frame in frames if "data" in frame)["number"] > second["number"]


def test_what_is_not_a_message_of_the_page_ends_the_socket(web: WebServer) -> None:
    for text in ("nonsense", "[]", '{"open": "table"}', '{"c": 1, "open": "shell"}', "{" * 1000):
        with web.live(Origin=web.origin) as socket:
            socket.send(text)
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=60)
    with web.live(Origin=web.origin) as socket:
        assert "must be a text" in next(Channel(socket, "table", filter=3))["error"]
        assert "must be a number from" in next(Channel(socket, "table", 2, rows=1e9))["error"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "is not loopback: give --certificate and --key, or listen on 127.0.0.1 and tunnel"),
        (("--prot", "1"), "--prot"),
    ],
)
def test_what_would_be_open_to_others_is_refused(mosaic: Mosaic, words: tuple[str, ...], said: str) -> None:
    ended = subprocess.run([MOSAIC, "web", *words], capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 2
    assert said in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("host", "pair", "said"),
    [
        ("192.0.2.1", (None, None), "192.0.2.1 is not loopback"),
        ("::", (None, None), ":: is not loopback"),
        ("127.0.0.1", ("c.pem", None), "--certificate: and --key go together"),
        ("0.0.0.0", ("c.pem", "k.pem"), "c.pem cannot be read"),
        ("0.0.0.0", (__file__, __file__), "are not a certificate and its key"),
    ],
)
def test_an_address_is_checked_with_its_certificate(host: str, pair: tuple[str | None, ...], said: str) -> None:
    certificate, key = (name and Path(name) for name in pair)
    with pytest.raises(ConfigError, match=said):
        checked(host, 8777, certificate, key, ())


def test_a_port_that_is_taken_is_told(web: WebServer) -> None:
    command = [MOSAIC, "web", "--port", str(web.port)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 1
    assert "choose another --port" in ended.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_with_a_certificate_others_may_reach_it(mosaic: Mosaic, tmp_path: Path) -> None:
    pair = ("-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem"))
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        *pair,
    ]
    subprocess.run(command, check=True, capture_output=True)
    words = ("--host", "0.0.0.0", "--certificate", str(tmp_path / "cert.pem"), "--key", str(tmp_path / "key.pem"))
    with web_server(*words, "--name", "box.example", enters=False) as server:
        assert "Secure" in server.enter().headers["set-cookie"]
        assert server.ask("/api/about").status == 200
        named = {"Host": "box.example", "Origin": "https://box.example"}
        assert server.ask("/api/about", headers=named).status == 200
        assert server.ask("/api/about", headers={"Host": "evil.example"}).status == 421


def test_without_the_extra_it_says_what_to_install(mosaic: Mosaic) -> None:
    script = Path(__file__).parents[1] / "support" / "without_packages.py"
    command = [sys.executable, str(script), "starlette", "mosaic.cli", "web"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 3
    assert "the studio in a browser needs the extra 'browser'" in ended.stderr
