"""A `mosaic web` and a Chromium without a screen (Debian: chromium, chromium-driver), for measurements and pictures."""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
TIMEOUT_S = 300.0


@contextmanager
def served(*words: str) -> Iterator[tuple[psutil.Process, str]]:
    """Of the daemon of MOSAIC_HOME: the process, and its link."""
    command = [sys.executable, "-m", "mosaic.cli", "web", "--port", "0", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    link = re.search(r"http\S+", process.stdout.readline())
    if link is None:
        raise SystemExit("'mosaic web' has told no link")
    try:
        yield psutil.Process(process.pid), link[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


@contextmanager
def chromium(*flags: str) -> Iterator[Chrome]:
    options = ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, NAMES)), "")
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*FLAGS, *flags, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
        try:
            yield browser
        finally:
            browser.quit()


def look(browser: Chrome, width: int, height: int, scheme: str) -> None:
    """The size of the page, and dark or light, as the system would have it."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def until(holds: Callable[[], Any], what: str = "the page did not come so far", timeout_s: float = TIMEOUT_S) -> Any:
    """What it returns, once that is true."""
    deadline = time.monotonic() + timeout_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"it did not happen in time: {what}"
        time.sleep(0.05)
    return found
