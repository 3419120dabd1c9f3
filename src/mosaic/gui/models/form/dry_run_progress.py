"""A dry run under way: what its worker says while it tries, and a way to end it."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from mosaic.config import JsonObject
from mosaic.errors import MosaicError
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.rpc.client import Client
from mosaic.rpc.dry_run import Validation


class DryRun(QObject):
    """One at a time."""

    told = Signal(str)
    """The newest line of the worker; comes from the thread that waits for it."""

    def __init__(self, link: DaemonLink) -> None:
        super().__init__()
        self._link = link
        self._cancel: Callable[[], object] | None = None
        self._is_unwanted = False

    def start(
        self,
        document: JsonObject,
        done: Callable[[Validation], object],
        failed: Callable[[MosaicError], object],
    ) -> None:
        self._cancel, self._is_unwanted = None, False
        self._link.call(partial(self._run, document), done, failed, brings_back=True)

    def cancel(self) -> None:
        """It ends soon, and then fails as one that was cancelled."""
        self._is_unwanted = True
        if self._cancel is not None:
            self._cancel()

    def _run(self, document: JsonObject, client: Client) -> Validation:
        """In another thread."""
        return client.validate(document, tell=self.told.emit, begun=self._begun)

    def _begun(self, cancel: Callable[[], object]) -> None:
        self._cancel = cancel
        if self._is_unwanted:
            cancel()
