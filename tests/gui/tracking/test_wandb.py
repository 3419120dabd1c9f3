"""The W&B tab on a really trained run: exported, uploaded to a stand-in of the server, near and far."""

import json
import os
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtNetwork import QNetworkProxy

from mosaic.errors import MosaicError
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.tracking.wandb_export import Seen, WandbExport
from mosaic.gui.tabs.wandb import ENDED, NOT_EXPORTED, WandbTab
from mosaic.gui.widgets.result_dialog import ResultDialog
from mosaic.gui.widgets.tracking import web_view
from mosaic.gui.widgets.tracking.web_proxy import WebProxy
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.track import export_state
from mosaic.track.export_state import Export

from ...track.stand_in import serving
from ...track.test_network import listening
from ..conftest import Show, Shown

KEY = "5ec3e7" * 6 + "beef"
REFUSED = "http://127.0.0.1:9"


class Browser(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(url.toString())


@pytest.fixture
def run(client: Client, trained: RunRecord, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> RunRecord:
    """A short run without an export yet; no key of the user's is found."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_BASE_URL", REFUSED)
    made = client.train("ppo", env_id="CartPole-v1", total_timesteps=1024)[0]
    return client.wait(made.run_id)[0]


def opened(shown: Shown, run: RunRecord) -> WandbTab:
    tab = shown.window.tabs["W&B"]
    assert isinstance(tab, WandbTab)
    shown.until(lambda: shown.studio.runs.get(run.run_id) is not None, "the run")
    shown.window.runs.select([run.run_id])
    shown.window.bench.bring_up("W&B")
    shown.until(lambda: tab.model.seen is not None, "a look at it")
    return tab


def test_an_export_appears_is_uploaded_and_its_page_opened(show: Show, run: RunRecord) -> None:
    shown = show()
    tab = opened(shown, run)
    assert tab.blank.text == f"{NOT_EXPORTED}\n\n{ENDED}"
    # A run that was not tracked is exported from here.
    tab.export.click()
    shown.until(lambda: tab.state.text() == "Offline", "the offline export")
    shown.until(lambda: not shown.window.run_files.is_busy, "the end of the command")
    [result] = [dialog for dialog in shown.window.findChildren(ResultDialog) if dialog.isVisible()]
    assert result.said.text() == "W&B: not everything is there yet."
    result.close()
    assert "no API key" in tab.alarm.text()
    assert tab.facts.text("Project") == "mosaic"
    assert tab.facts.text("Server") == REFUSED
    assert "/wandb/wandb/offline-run-" in tab.facts.text("Folder")
    assert tab.open.isHidden()

    tab.probe.click()
    shown.until(lambda: tab.model.answer is not None, "the probe")
    assert "refused" in tab.answer.text()
    assert "no API key is known" in tab.answer.text()

    tab.sync.click()
    assert tab.state.text() == "Syncing"
    shown.until(lambda: tab.model.idle, "the end of the upload", 60)
    assert "no API key" in tab.alarm.text()
    assert tab.sync.isEnabled()

    browser = Browser()
    QDesktopServices.setUrlHandler("http", browser, "open")
    try:
        with serving() as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv("WANDB_BASE_URL", server.url)
            tab.key.setText(KEY)
            tab.sync.click()
            assert tab.key.text() == ""
            shown.until(lambda: tab.state.text() == "Synced", "the upload", 60)
            assert len(server.rows) == export_state.parse(RunDir(Path(run.run_dir)).wandb_export.read_bytes()).rows
        tab.open.click()
        assert len(browser.opened) == 1
        assert browser.opened[0].endswith(f"/mosaic/runs/{run.run_id.lower()}")
    finally:
        QDesktopServices.unsetUrlHandler("http")
    assert not tab.sync.isEnabled()
    leaks = [path for path in Path(run.run_dir).rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert leaks == []


def test_a_failed_export_says_why_and_one_that_was_cut_off_too(show: Show, run: RunRecord) -> None:
    run_dir = RunDir(Path(run.run_dir))
    run_dir.wandb.mkdir()
    failed = Export(state="failed", why='needs the extra: pip install "mosaic-rl[wandb]"', project="mosaic")
    export_state.write(run_dir, failed)
    shown = show()
    tab = opened(shown, run)
    shown.until(lambda: tab.state.text() == "Failed")
    assert "pip install" in tab.alarm.text()
    export_state.write(run_dir, replace(failed, state="exporting", why=""))
    shown.until(lambda: tab.state.text() == "Exporting", "the change")
    assert "was stopped" in tab.alarm.text()
    (run_dir.wandb / "wandb" / "offline-run-20260101_000000-x").mkdir(parents=True)
    shown.until(lambda: "offline-run-20260101_000000-x" in tab.facts.text("Folders"), "the new folder")


def test_from_afar_the_state_is_shown_and_the_upload_left_to_the_other_machine(
    show: Show, run: RunRecord, daemon_home: Home
) -> None:
    run_dir = RunDir(Path(run.run_dir))
    run_dir.wandb.mkdir()
    export_state.write(run_dir, Export(state="offline", project="mosaic", folder="wandb/wandb/offline-run-1-x", rows=7))
    shown = show(link=DaemonLink(daemon_home, target=running_address(daemon_home)))
    tab = opened(shown, run)
    shown.until(lambda: tab.state.text() == "Offline")
    assert not tab.sync.isEnabled()
    assert "daemon's machine" in tab.sync.toolTip()
    assert not tab.probe.isEnabled()
    assert tab.folder.isHidden()
    assert tab.key.isHidden()


def test_the_proxy_of_a_page_is_qts_and_is_given_back() -> None:
    before = QNetworkProxy.applicationProxy()
    proxy = WebProxy()
    proxy.use("http://me:a%20b@proxy.example:3128")
    used = QNetworkProxy.applicationProxy()
    assert (used.type(), used.hostName(), used.port()) == (QNetworkProxy.ProxyType.HttpProxy, "proxy.example", 3128)
    assert (used.user(), used.password()) == ("me", "a b")
    proxy.use("socks5://proxy.example")
    assert QNetworkProxy.applicationProxy().type() == QNetworkProxy.ProxyType.Socks5Proxy
    proxy.use("")
    assert QNetworkProxy.applicationProxy() == before
    proxy.use("nonsense")
    assert QNetworkProxy.applicationProxy() == before


def synced(run: RunRecord, address: str, **extras: object) -> RunDir:
    """As if it were on a server."""
    run_dir = RunDir(Path(run.run_dir))
    document = json.loads(run_dir.config.read_text())
    document["metadata"]["worker"]["config"]["extras"] |= extras
    run_dir.config.write_text(json.dumps(document))
    run_dir.wandb.mkdir()
    export_state.write(run_dir, Export(state="synced", url=address, project="mosaic", folder="wandb"))
    return run_dir


@pytest.mark.skipif(web_view.is_installed(), reason="WebEngine is installed")
def test_without_webengine_the_page_opens_in_the_browser_only(show: Show, run: RunRecord) -> None:
    synced(run, "http://wandb.invalid/entity/mosaic/runs/x")
    shown = show()
    tab = opened(shown, run)
    shown.until(lambda: tab.state.text() == "Synced")
    assert not tab.open.isHidden()
    assert tab.show_page.isHidden()


@pytest.mark.skipif(not web_view.is_installed(), reason="needs WebEngine")
def test_the_page_is_shown_in_the_tab_through_the_proxy_of_the_run(show: Show, run: RunRecord) -> None:
    heard: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heard.append(connection.recv(65536).partition(b"\r\n")[0])
        page = b"<title>the run</title>"
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + page)

    before = QNetworkProxy.applicationProxy()
    with listening(serve) as proxy:
        address = "http://wandb.invalid/entity/mosaic/runs/x"
        synced(run, address, wandb_use_vpn_proxy=True, wandb_http_proxy=proxy)
        shown = show()
        tab = opened(shown, run)
        shown.until(lambda: not tab.show_page.isHidden(), "the button")
        tab.show_page.click()
        shown.until(lambda: tab.frame.web is not None and tab.frame.web.title == "the run", "the page", 60)
        assert heard[0] == f"GET {address} HTTP/1.1".encode()
        assert tab.frame.isVisible()
        tab.frame.back.click()
        assert tab.facts.isVisible()
        shown.window.close()
    assert QNetworkProxy.applicationProxy() == before


def test_a_look_that_failed_is_forgotten_with_the_next_one(application: object) -> None:
    class Answers:
        """A link whose daemon is away for one call."""

        is_remote = True
        calls = 0

        def call(self, _ask: object, take: Callable[[Seen], None], lose: Callable[[MosaicError], None]) -> None:
            self.calls += 1
            if self.calls == 1:
                lose(MosaicError("the daemon is away"))
            else:
                take(Seen("01K9CG05J5Y0FFQMT1T920EZK2"))

    model = WandbExport(Answers())  # type: ignore[arg-type]
    model.watch(RunRecord(run_id="01K9CG05J5Y0FFQMT1T920EZK2"))
    assert model.problem == "the daemon is away"
    model._look()
    assert (model.problem, model.seen is not None) == ("", True)
    model.stop()
