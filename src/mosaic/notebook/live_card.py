"""A run that shows itself while it goes on: its card below a notebook's cell, drawn anew until the run ends."""

import io
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mosaic.errors import MissingPackage, MosaicError, RenderUnavailable
from mosaic.notebook import run_card
from mosaic.rpc.client import Client, Series
from mosaic.spec.states import TERMINAL

if TYPE_CHECKING:
    from PIL.Image import Image


def watch(
    client: Client,
    run_id: str,
    curve: Callable[[], Series | None],
    *,
    frames: bool,
    every_s: float,
) -> None:
    display: Any = _ipython()
    shown = display.display(display.HTML(""), display_id=True)
    with _pictures(client, run_id) if frames else _no_pictures() as newest:
        while True:
            record = client.get(run_id)
            shown.update(display.HTML(run_card.card(record, curve(), newest())))
            if record.state in TERMINAL:
                return
            time.sleep(every_s)


def picture_of(client: Client, run_id: str, *, timeout_s: float) -> "Image":
    from PIL import Image

    deadline = time.monotonic() + timeout_s
    with _pictures(client, run_id) as newest:
        while not (jpeg := newest()):
            record = client.get(run_id)
            if record.state in TERMINAL or time.monotonic() > deadline:
                raise RenderUnavailable(
                    f"run {run_id} is {record.state.value} and shows no picture: only a run that is running, and"
                    " whose live view is on, draws its environments"
                )
            time.sleep(0.05)
    return Image.open(io.BytesIO(jpeg))


def _ipython() -> Any:
    try:
        return import_module("IPython.display")
    except ImportError:
        raise MissingPackage("run.watch(), which shows a run in a notebook,", "ipython") from None


@contextmanager
def _no_pictures() -> Generator[Callable[[], bytes]]:
    yield lambda: b""


@contextmanager
def _pictures(client: Client, run_id: str) -> Generator[Callable[[], bytes]]:
    """`newest()`: the newest frame as JPEG, empty before the first; the run draws as long as this is open."""
    stream = client.frames(run_id, tile_width=240)
    newest: list[bytes] = [b""]

    def take() -> None:
        try:
            for frame in stream:
                if frame.image:
                    newest[0] = frame.image
        except MosaicError:
            return  # The stream ended with the daemon or the run; the card goes on without pictures.

    thread = threading.Thread(target=take, name="notebook frames", daemon=True)
    thread.start()
    try:
        yield lambda: newest[0]
    finally:
        stream.stop()
        thread.join()
