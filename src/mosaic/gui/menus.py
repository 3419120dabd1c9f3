"""The menus of the window, the context menu of the runs and the command palette: one table of actions behind all."""

import re
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu, QMessageBox, QWidget

from mosaic import __version__
from mosaic.gui.assets import keep_icon
from mosaic.gui.models.palette_commands import Command
from mosaic.gui.models.runs.run_actions import ACTIONS, Action
from mosaic.gui.models.wording import name_of, summary_of
from mosaic.gui.shell import Shell
from mosaic.gui.tabs import TABS
from mosaic.gui.tabs.live import LiveTab
from mosaic.gui.widgets.charts.chart_actions import lines_of_sheet
from mosaic.gui.widgets.command_palette import CommandPalette
from mosaic.gui.widgets.dialogs import ask_and_do, ask_long_text, ask_text
from mosaic.gui.widgets.labels_and_buttons import icon_button, row
from mosaic.gui.widgets.shortcut_sheet import ShortcutSheet
from mosaic.plain_text import plain
from mosaic.spec.run_record import RunRecord

MOST_RUNS = 500
"""Runs that the palette offers: the newest."""
EXTRA_KEYS = {"Dry runs": "Ctrl+0", "Sweeps": "Ctrl+Shift+W", "Table": "Ctrl+Shift+A"}
"""Tabs beyond the ninth."""
_MARK = re.compile("&(.)")
"""Marks the letter to press; two of them are the sign itself."""


class Menus(QObject):
    """Makes the menus once and keeps what fits the selection enabled."""

    def __init__(self, window: Shell) -> None:
        super().__init__(window)
        self._window, self._studio = window, window.studio
        self._does = window.actions_on_runs
        self.on_runs: dict[str, tuple[Action, QAction]] = {}
        self._for_one: list[QAction] = []
        """Actions that need a current run."""
        bar = window.menuBar()
        self._file, self._run, self._view, self._help = (
            bar.addMenu(name) for name in ("&File", "&Run", "&View", "&Help")
        )
        self._make_file()
        self._make_run()
        self._make_view()
        self._make_help()
        self._corner = self._make_corner()
        bar.setCornerWidget(self._corner, Qt.Corner.TopRightCorner)
        list_of_runs = window.runs.view
        list_of_runs.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        list_of_runs.customContextMenuRequested.connect(self._show_context)
        self._does.changed.connect(self._enable)
        self._enable()

    def commands(self) -> list[Command]:
        """Everything that can be done, what cannot be done now with its reason; then the runs to go to."""
        found = [
            self._command(action, menu)
            for menu in (self._run, self._view, self._file, self._help)
            for action in menu.actions()
            if not action.isSeparator() and action is not self._window.views.menuAction()
        ]
        found += [
            Command(view.name, partial(self._window.show_view, view), "", "Saved view", also="view")
            for view in self._window.views.listed()
        ]
        newest = list(self._studio.runs.records())[:MOST_RUNS]
        return found + [
            Command(
                name_of(run), partial(self._studio.select, [run.run_id]), f"{summary_of(run)} · {run.state}", "Go to"
            )
            for run in newest
        ]

    def _command(self, action: QAction, menu: QMenu) -> Command:
        of_runs = next((entry for entry, shown in self.on_runs.values() if shown is action), None)
        reason = "" if action.isEnabled() else "no run is selected"
        if of_runs is not None:
            reason = self._does.reason_against(of_runs)
        title, group = _MARK.sub(r"\1", action.text()), _MARK.sub(r"\1", menu.title())
        keys = action.shortcut().toString()
        return Command(title, action.trigger, keys, group, reason, of_runs.also if of_runs else "")

    def open_shortcuts(self) -> ShortcutSheet:
        """The sheet of every key."""
        groups: list[tuple[str, list[tuple[str, str]]]] = []
        native = QKeySequence.SequenceFormat.NativeText
        for menu in (self._run, self._view, self._file, self._help):
            keyed = [action for action in menu.actions() if not action.shortcut().isEmpty()]
            lines = [(action.shortcut().toString(native), _MARK.sub(r"\1", action.text())) for action in keyed]
            groups.append((_MARK.sub(r"\1", menu.title()), lines))
        form = self._window.form
        keyed_buttons = (
            (form.start, "Start what the form says"),
            (form.dry_run, "Dry run of the form, or end it"),
            (form.sweep, "Sweep over the form's settings"),
        )
        groups.append(("Form", [(button.shortcut().toString(native), does) for button, does in keyed_buttons]))
        groups.append(("Charts", list(lines_of_sheet())))
        sheet = ShortcutSheet(self._window, self._window.theme, groups)
        sheet.open()
        return sheet

    def open_palette(self) -> CommandPalette:
        palette = CommandPalette(self._window, self._window.theme, self.commands())
        palette.open_over(self._window)
        return palette

    def ask_and_do(self, action: Action) -> None:
        """Do it to the selected runs that it fits, after the question where it has one."""
        ask_and_do(self._window, self._does, action)

    def _make_file(self) -> None:
        form = self._window.form
        self._add(self._file, "&Import a run config…", form.tools.import_json, "Ctrl+O")
        self._add(self._file, "&Export the run config…", form.tools.export_json, "Ctrl+S")
        self._file.addSeparator()
        files = self._window.run_files
        self._add(self._file, "Import runs from a &zip file…", files.import_zip, icon="upload")
        self._add(self._file, "Import runs from a &folder…", files.import_folder, icon="folder-open")
        self._for_one += [
            self._add(self._file, "Export the selected &runs…", files.export, "Ctrl+Shift+E", icon="download"),
            self._add(self._file, "&Share the selected runs as a page…", files.share, icon="external-link"),
        ]
        self._file.addSeparator()
        self._add(self._file, "&Quit", self._window.close, QKeySequence.StandardKey.Quit)

    def _make_run(self) -> None:
        window = self._window
        self._add(self._run, "&Train the last configuration", window.form.train_last, "Ctrl+T", icon="play")
        self._add(self._run, "Configure a &new run…", window.configure, "Ctrl+N", icon="plus")
        self._add(self._run, "&Sweep the form's settings…", window.form.open_sweep, icon="layers")
        self._add(self._run, "&Load trained policy…", window.load_policy, "Ctrl+L", icon="brain-circuit")
        self._for_one += [
            self._add(self._run, "Clone and e&dit", self._clone, "Ctrl+D", icon="copy-plus"),
        ]
        self._run.addSeparator()
        for action in ACTIONS:
            shown = self._add(self._run, action.title, partial(self.ask_and_do, action), action.keys, icon=action.icon)
            self.on_runs[action.title] = (action, shown)
            if action.keys == "Del":
                # The list hears it; elsewhere this key deletes a letter.
                shown.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
                window.runs.view.delete_asked.connect(partial(self.ask_and_do, action))
        self._run.addSeparator()
        self._for_one += [
            self._add(self._run, "Re&name…", self._rename, "F2", icon="pencil"),
            self._add(self._run, "Edit n&otes…", self._edit_notes, icon="notebook-pen"),
            self._add(self._run, "Ta&gs…", self._tag, icon="tag"),
            self._add(self._run, "Pin to the &top, or let go", self._pin, "Ctrl+Shift+I", icon="pin"),
            self._add(self._run, "&Differences between the runs…", window.compare, "Ctrl+Shift+D", icon="columns-2"),
            self._add(self._run, "Show confi&g", self._show_config, "Ctrl+I", icon="braces"),
            self._add(self._run, "Copy run &id", lambda: self._copy(self._studio.current), "Ctrl+Shift+C", icon="copy"),
            self._add(
                self._run, "Copy &evaluate command", lambda: self._copy(f"mosaic evaluate {self._studio.current}")
            ),
        ]
        self._run.addSeparator()
        self._for_one += [
            self._add(self._run, "Publish the &policy…", window.run_files.publish, icon="cloud-upload"),
            self._add(self._run, "Export to a trac&ker…", window.run_files.track, icon="cloud-upload"),
            self._add(self._run, "&Verify the files", window.run_files.verify, icon="circle-check"),
        ]
        self._run.addSeparator()
        self._add(self._run, "&Find a run", window.runs.filter.setFocus, QKeySequence.StandardKey.Find, icon="search")

    def _make_view(self) -> None:
        window = self._window
        self._add(self._view, "&Command palette…", self.open_palette, "Ctrl+K", icon="command")
        self._add(self._view, "Dark or &light", window.theme.toggle, "Ctrl+Shift+T", icon="moon")
        self._view.addSeparator()
        for dock, keys in zip(window.side_docks, ("Ctrl+B", "Ctrl+Shift+B"), strict=True):
            toggle = dock.toggleViewAction()
            toggle.setShortcut(QKeySequence(keys))
            self._view.addAction(toggle)
        self._add(self._view, "Runs as a &table, and back", window.switch_table, "Ctrl+Shift+R", icon="table-2")
        self._add(self._view, "&Maximise the panel, and back", window.maximise_panel, "Ctrl+M", icon="maximize-2")
        self._add(self._view, "Add a &chart…", self._add_chart, "Ctrl+Shift+K", icon="chart-line")
        live = window.tabs["Live view"]
        assert isinstance(live, LiveTab)
        self._add(self._view, "&Freeze the live view, or go on", live.toggle_pause, icon="pause")
        self._add(self._view, "&Next picture of the live view", live.next_picture, icon="chevron-right")
        self._add(self._view, "&What the agent sees, or not", live.toggle_explained, icon="brain-circuit")
        self._add(self._view, "Sna&pshot of the live view", live.save_snapshot, icon="camera")
        self._add(self._view, "Record a &clip of the live view, or stop", live.toggle_clip, icon="circle-dot")
        self._add(self._view, "&Alerts…", window.open_alerts, "Ctrl+Shift+N", icon="bell")
        self._add(self._view, "&Reset layout", window.reset_layout)
        self._view.addSeparator()
        self._add(self._view, "&Save this view…", window.views.ask_name, "Ctrl+Shift+V", icon="bookmark")
        self._view.addMenu(window.views)
        self._view.addSeparator()
        for number, tab in enumerate(TABS, start=1):
            shown, bring_up = tab.title.replace("&", "&&"), partial(window.bring_up, tab.title)
            keys = f"Ctrl+{number}" if number < 10 else ""
            self._add(self._view, shown, bring_up, keys or EXTRA_KEYS.get(tab.title, ""), icon=tab.icon)

    def _make_help(self) -> None:
        show_help = self._window.form.show_help
        self._add(self._help, "&Help on the algorithm", show_help, QKeySequence.StandardKey.HelpContents)
        self._add(self._help, "&Keyboard shortcuts", self.open_shortcuts, "Ctrl+/", icon="command")
        self._add(self._help, "&Documentation", self._window.show_docs, icon="file-text")
        self._help.addSeparator()
        self._add(self._help, "&Check this installation", self._window.run_files.doctor, icon="plug-zap")
        self._add(self._help, "&About MOSAIC", self._about)

    def _make_corner(self) -> QWidget:
        """The ways to a new run, always in reach."""
        theme = self._window.theme
        load = icon_button(theme, "brain-circuit", "Load policy…", self._window.load_policy)
        load.setToolTip("Evaluate a trained policy, or compare several (Ctrl+L)")
        configure = icon_button(theme, "sliders-horizontal", "Configure…", self._window.configure)
        configure.setToolTip("Open the form of a new run (Ctrl+N)")
        train = icon_button(theme, "play", "Train", self._window.form.train_last, primary=True)
        train.setToolTip("Start the last configuration again, at once (Ctrl+T)")
        made = QWidget()
        made.setProperty("corner", True)
        row(load, configure, train, of=made, margins=(0, 3, 10, 3))
        return made

    def _add(
        self,
        menu: QMenu,
        text: str,
        does: Callable[[], object],
        keys: "QKeySequence.StandardKey | str" = "",
        *,
        icon: str = "",
    ) -> QAction:
        action = QAction(text, self._window)
        action.triggered.connect(lambda _=False: does())
        action.setShortcut(QKeySequence(keys))
        if icon:
            keep_icon(self._window.theme, icon, action.setIcon)
        menu.addAction(action)
        return action

    def _enable(self) -> None:
        states = self._does.states()
        for action, shown in self.on_runs.values():
            shown.setEnabled(not action.verb.states.isdisjoint(states))
        for shown in self._for_one:
            shown.setEnabled(bool(self._studio.current))

    def _add_chart(self) -> None:
        self._window.bring_up("Metrics")
        self._window.metrics.arranger.ask_for_chart()

    def _show_context(self, at: QPoint) -> None:
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions([shown for _, shown in self.on_runs.values() if shown.isEnabled()])
        if menu.actions():
            menu.addSeparator()
        menu.addActions(self._for_one)
        menu.popup(self._window.runs.view.viewport().mapToGlobal(at))

    def _clone(self) -> None:
        self._window.configure()
        self._window.form.clone(self._studio.current)

    def _show_config(self) -> None:
        self._window.bench.bring_up("Overview")

    def _rename(self) -> None:
        if (run := self._current()) is not None:
            ask_text(self._window, "Rename", "Name of the run", run.label, partial(self._does.rename, run))

    def _edit_notes(self) -> None:
        if (run := self._current()) is not None:
            title = f"Notes on {name_of(run)}"
            ask_long_text(self._window, "Notes", title, run.notes, partial(self._does.set_notes, run))

    def _tag(self) -> None:
        self._window.table.actions_on_chosen.tag_those(self._window.run_files.runs())

    def _pin(self) -> None:
        self._does.pin(self._window.run_files.runs())

    def _current(self) -> RunRecord | None:
        return self._studio.record()

    @staticmethod
    def _copy(text: str) -> None:
        # What is pasted into a terminal is carried out there.
        QGuiApplication.clipboard().setText(plain(text))

    def _about(self) -> None:
        box = QMessageBox(self._window)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setWindowTitle("About MOSAIC")
        box.setText(
            f"MOSAIC {__version__}\nA reinforcement-learning studio.\n\n"
            "Inter and JetBrains Mono: SIL Open Font License. Lucide icons: ISC."
        )
        box.open()
