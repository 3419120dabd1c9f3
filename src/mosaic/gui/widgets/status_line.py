"""The status bar: which home, how many runs, what is worth knowing, and the load of the machine."""

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStatusBar, QWidget

from mosaic.gui.models.batch import Notice
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of, size
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.parts import icon_label

NOTICE_MS = 15_000


class StatusLine(QStatusBar):
    """Home and runs on the left, machine on the right, the newest notice between."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio = studio
        self.setSizeGripEnabled(False)
        self._home, self._runs, self.notice = QLabel(str(studio.home.root)), QLabel(), QLabel()
        self._notice_icon = icon_label(theme, "triangle-alert", "warn", 13)
        self._cpu, self._memory, self._disk = QLabel(), QLabel(), QLabel()
        for icon, widget in (("folder", self._home), ("layers", self._runs)):
            self.addWidget(_pair(icon_label(theme, icon, size=13), widget))
        self._shown = _pair(self._notice_icon, self.notice)
        self._shown.hide()
        self.addWidget(self._shown, 1)
        for icon, widget in (("cpu", self._cpu), ("memory-stick", self._memory), ("hard-drive", self._disk)):
            self.addPermanentWidget(_pair(icon_label(theme, icon, size=13), widget))
        self._fade = QTimer(self)
        self._fade.setSingleShot(True)
        self._fade.setInterval(NOTICE_MS)
        self._fade.timeout.connect(self._shown.hide)
        studio.runs_changed.connect(self._show_runs)
        studio.machine_changed.connect(self._show_machine)
        studio.noticed.connect(self.show_notice)
        self._show_runs()

    def show_notice(self, notice: Notice) -> None:
        record = self._studio.runs.get(notice.run_id) if notice.run_id else None
        text = f"{name_of(record)}: {notice.message}" if record else notice.message
        self.notice.setText(text.splitlines()[0])
        self.notice.setToolTip(text)
        self._shown.show()
        self._fade.start()

    def _show_runs(self) -> None:
        total, live = self._studio.runs.rowCount(), self._studio.live_count
        self._runs.setText(f"{total:,} run{'' if total == 1 else 's'}" + (f" · {live} live" if live else ""))

    def _show_machine(self) -> None:
        machine = self._studio.machine
        if machine is None:
            return
        self._cpu.setText(f"CPU {machine.cpu_percent:.0f} %")
        self._memory.setText(f"{size(machine.memory_used)} of {size(machine.memory_total)}")
        self._disk.setText(f"{size(machine.disk_free)} free")


def _pair(icon: QLabel, text: QLabel) -> QWidget:
    made = QWidget()
    layout = QHBoxLayout(made)
    layout.setContentsMargins(8, 2, 6, 3)
    layout.setSpacing(6)
    layout.addWidget(icon)
    layout.addWidget(text)
    return made
