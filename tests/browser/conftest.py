"""A real Chromium in front of a real `mosaic web` and daemon; skipped where there is no Chromium."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import end_all_of
from selenium.webdriver import Chrome
from web_server import MOSAIC, WebServer, web_server

sys.path.append(str(Path(__file__).resolve().parents[2]))

from bench.chromium import chromium, look, until

REBOUND = "--host-resolver-rules=MAP rebound.example 127.0.0.1"
"""A page of another name that leads to this machine, as in DNS rebinding."""
DEADLINE_S = float(os.environ.get("BROWSER_DEADLINE_S", "300"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker("slow")
            item.add_marker("browser")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOSAIC_HOME", str(home))
        for name in ("MOSAIC_TARGET", "MOSAIC_CERTIFICATE"):
            patch.delenv(name, raising=False)
        mosaic("daemon", "start")
        yield home
        end_all_of(home)


def mosaic(*words: str) -> str:
    done = subprocess.run([MOSAIC, *words], check=True, capture_output=True, text=True, env=dict(os.environ))
    return done.stdout


@pytest.fixture(scope="session")
def web(home: Path) -> Iterator[WebServer]:
    with web_server("--allow-control", enters=False) as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    if not all(map(shutil.which, ("chromium", "chromedriver"))):
        pytest.skip("needs a Chromium and chromedriver (Debian: apt-get install chromium chromium-driver)")
    with chromium(REBOUND) as made:
        yield made


class Page:
    """The studio in the browser, and what a user does there."""

    def __init__(self, browser: Chrome, server: WebServer) -> None:
        self.browser, self.server = browser, server
        self.size(1400, 900)

    def size(self, width: int, height: int, scheme: str = "dark") -> None:
        look(self.browser, width, height, scheme)

    def open(self, path: str) -> None:
        self.browser.get(f"{self.server.origin}{path}")
        self.until("return document.body.dataset.connection === 'connected'")

    def run(self, script: str, *given: Any) -> Any:
        return self.browser.execute_script(script, *given)

    def until(self, script: str, *given: Any) -> Any:
        """What a script returns, once that is true."""
        return until(lambda: self.run(script, *given), script, DEADLINE_S)

    def see(self, text: str) -> None:
        self.until("return document.body.innerText.toLowerCase().includes(arguments[0].toLowerCase())", text)

    def press(self, selector: str) -> None:
        self.until("const it = document.querySelector(arguments[0]); it?.click(); return Boolean(it)", selector)

    def fill(self, selector: str, value: str) -> None:
        self.until(
            """const it = document.querySelector(arguments[0]);
            if (!it) return false;
            it.value = arguments[1];
            it.dispatchEvent(new Event('input', {bubbles: true}));
            return true;""",
            selector,
            value,
        )

    def problems(self) -> list[str]:
        """What the browser complained of since the last look."""
        found: list[dict[str, str]] = self.browser.get_log("browser")
        return [entry["message"] for entry in found if entry["level"] == "SEVERE"]


@pytest.fixture(scope="session")
def page(browser: Chrome, web: WebServer) -> Page:
    browser.get(f"{web.origin}/enter?token={web.token}")
    made = Page(browser, web)
    made.until("return document.body?.dataset.connection === 'connected'")
    return made


@pytest.fixture(scope="session")
def runs(home: Path) -> list[str]:
    """Six seeds that have finished, with films."""
    where = ("--env-id", "CartPole-v1", "--total-timesteps", "6000", "--seeds", "1-6", "--label", "cart")
    found = mosaic("train", "ppo", *where, "--capture-video", "--detach").split()
    for run_id in found:
        mosaic("follow", run_id)
    return found
