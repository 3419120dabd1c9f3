"""The status bar: which daemon, how many runs, what is worth knowing, and the load of the daemon's machine."""

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QLabel, QStatusBar, QToolButton, QWidget

from mosaic.gui.assets import pixmap
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.shown_text import in_html, tip
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import duration, name_of, size
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import ElidedLabel, PlainLabel, icon_label, row
from mosaic.rpc.trainer_pb2 import GpuLoad, Health

NOTICE_MS = 15_000
LONGEST_PLACE = 40
"""Characters of a home or an address; the tool tip has all of it."""


class StatusLine(QStatusBar):
    """Daemon and runs on the left, machine on the right, the newest notice between."""

    alerts_asked = Signal()

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio, self._theme = studio, theme
        self._starting = False
        self.setSizeGripEnabled(False)
        self.daemon, self._runs, self.notice = PlainLabel(), PlainLabel(), ElidedLabel()
        self.daemon.setTextFormat(Qt.TextFormat.RichText)
        self.daemon.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.daemon.linkActivated.connect(self.start_daemon)
        self._plug = PlainLabel()
        self.addWidget(_pair(self._plug, self.daemon))
        self.addWidget(_pair(icon_label(theme, "layers", size=13), self._runs))
        self._sign = PlainLabel()
        self._shown = _pair(self._sign, self.notice)
        self._shown.hide()
        self.addWidget(self._shown, 1)
        self.cpu, self.gpu, self.memory, self.disk = PlainLabel(), PlainLabel(), PlainLabel(), PlainLabel()
        self.alerts = QToolButton()
        self.alerts.setProperty("tool", True)
        self.alerts.setAutoRaise(True)
        self.alerts.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.alerts.setIconSize(QSize(13, 13))
        self.alerts.clicked.connect(lambda _=False: self.alerts_asked.emit())
        self.addPermanentWidget(self.alerts)
        self._machine = [
            _pair(icon_label(theme, icon, size=13), text)
            for icon, text in (
                ("cpu", self.cpu),
                ("gpu", self.gpu),
                ("memory-stick", self.memory),
                ("hard-drive", self.disk),
            )
        ]
        for pair in self._machine:
            pair.hide()
            self.addPermanentWidget(pair)
        self._fade = QTimer(self, singleShot=True, interval=NOTICE_MS)
        self._fade.timeout.connect(self._shown.hide)
        studio.runs_changed.connect(self._show_runs)
        studio.alerts.changed.connect(self._show_alerts)
        theme.changed.connect(self._show_alerts)
        studio.noticed.connect(self.show_notice)
        studio.link.state_changed.connect(self._show_daemon)
        studio.link.health_changed.connect(self._show_machine)
        theme.changed.connect(self._show_daemon)
        self._show_runs()
        self._show_alerts()
        self._show_daemon()

    def show_notice(self, notice: Notice) -> None:
        record = self._studio.runs.get(notice.run_id) if notice.run_id else None
        text = f"{name_of(record)}: {notice.message}" if record else notice.message
        self.notice.setText(text.splitlines()[0] if text else "")
        self.notice.setToolTip(tip(text))
        icon, token = ("circle-check", "ok") if notice.kind == "info" else ("triangle-alert", "warn")
        self._sign.setPixmap(pixmap(self._theme, icon, token, 13))
        self._shown.show()
        self._fade.start()

    def start_daemon(self) -> None:
        self._starting = True
        self._show_daemon()
        self._studio.link.start_daemon(self._started, self._not_started)

    def _started(self, _: Health) -> None:
        self._starting = False
        self._show_daemon()

    def _not_started(self, error: Exception) -> None:
        self._starting = False
        self._show_daemon()
        self.show_notice(Notice(str(error)))

    def _show_daemon(self) -> None:
        link = self._studio.link
        icon, token = "unplug", "warn"
        match link.state:
            case "connected":
                icon, token = "plug-zap", "ok"
                text = f"daemon connected · {in_html(_short(link.target or str(link.home.root)))}"
                self._starting = False
            case "connecting":
                token = "muted"
                text = "looking for the daemon…"
            case _ if self._starting:
                text = "starting the daemon…"
            case _ if link.is_remote:
                text = f"daemon at {in_html(link.target or '')} gone — reconnecting…"
            case "homeless":
                text = "the home folder is gone — move it back, or close this window"
            case "stopped":
                text = f"The daemon was stopped. Start it: {self._link('start')}"
            case _:
                text = f"daemon gone — {self._link('start')}"
        if link.state != "connected":
            for pair in self._machine:  # not known
                pair.hide()
        self._plug.setPixmap(pixmap(self._theme, icon, token, 13))
        self.daemon.setText(text)
        self.daemon.setToolTip(tip(self._explained() if link.state == "connected" else link.problem))

    def _link(self, text: str) -> str:
        colour = self._theme.colour("accent").name()
        return f'<a href="start" style="color:{colour};text-decoration:none">{text}</a>'

    def _address(self) -> str:
        link = self._studio.link
        return link.target or (link.client.target if link.client else "")

    def _explained(self) -> str:
        health = self._studio.link.health
        if health is None:
            return self._address()
        lines = [
            f"MOSAIC {health.version} · pid {health.pid} · up for {duration(health.uptime_s)}",
            f"listens on {health.address}",
            f"home {health.home}",
            f"{health.cpu_slots_used} of {health.cpu_slots} CPU slots in use",
        ]
        return "\n".join([*lines, *health.warnings])

    def _show_runs(self) -> None:
        total, live = self._studio.runs.rowCount(), self._studio.live_count
        parts = [f"{total:,} run{'' if total == 1 else 's'}", f"{live} live" if live else ""]
        self._runs.setText(" · ".join(filter(None, parts)))

    def _show_alerts(self) -> None:
        unseen = self._studio.alerts.unseen
        said = f"{unseen:,} new alert{'' if unseen == 1 else 's'}" if unseen else "No new alerts"
        self.alerts.setText(f"{unseen:,}" if unseen else "")
        self.alerts.setToolTip(tip(f"{said} (Ctrl+Shift+N)"))
        self.alerts.setAccessibleName(f"Alerts: {said}")
        self.alerts.setIcon(QIcon(pixmap(self._theme, "bell", "warn" if unseen else "muted", 13)))

    def _show_machine(self) -> None:
        health = self._studio.link.health
        if health is None:
            return
        self.cpu.setText(f"CPU {health.cpu_percent:.0f} %")
        self.gpu.setText(" · ".join(map(_gpu, health.gpu_loads[:2])) + ("…" if len(health.gpu_loads) > 2 else ""))
        self.gpu.setToolTip(tip("\n".join(map(_gpu_whole, health.gpu_loads))))
        self.memory.setText(f"{size(health.memory_used_bytes)} of {size(health.memory_total_bytes)}")
        self.disk.setText(f"{size(health.disk_free_bytes)} free")
        free, total = size(health.disk_free_bytes), size(health.disk_total_bytes)
        self.disk.setToolTip(tip(f"{free} of {total} are free for {health.home}"))
        for pair, label in zip(self._machine, (self.cpu, self.gpu, self.memory, self.disk), strict=True):
            pair.setVisible(bool(label.text()))
        self.daemon.setToolTip(tip(self._explained()))


def _short(place: str) -> str:
    """The end of a long path: `…/share/mosaic`."""
    parts = place.split("/")
    while len(parts) > 1 and len("/".join(parts)) > LONGEST_PLACE:
        del parts[0]
    short = "/".join(parts)
    return short if short == place else f"…/{short}"


def _gpu(load: GpuLoad) -> str:
    """`H200 · 71 % · 9.8 GiB`."""
    name = load.name.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return f"{name} {load.percent:.0f} % · {size(load.memory_used_bytes)}"


def _gpu_whole(load: GpuLoad) -> str:
    used, total = size(load.memory_used_bytes), size(load.memory_total_bytes)
    return f"{load.name}: {load.percent:.0f} % busy, {used} of {total} memory in use"


def _pair(icon: QLabel, text: QLabel) -> QWidget:
    made = QWidget()
    row(icon, text, of=made, margins=(8, 2, 6, 3), spacing=6)
    return made
