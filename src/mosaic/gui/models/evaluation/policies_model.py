"""The policies that can be evaluated, as a table: those of the daemon's runs, and files that were browsed for."""

import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePath

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from mosaic.gui.models.shown_text import tip
from mosaic.plain_text import plain_line
from mosaic.rpc.policy_info import PolicyInfo

Index = QModelIndex | QPersistentModelIndex
COLUMNS = ("Policy", "Environment", "Algorithm", "Steps", "Return", "Saved")
NUMBERS = (3, 4)
SORT = int(Qt.ItemDataRole.UserRole)
POLICY = SORT + 1
"""The PolicyInfo of a row."""
_NOWHERE = QModelIndex()
DAY_S = 24 * 3600


class PoliciesModel(QAbstractTableModel):
    """Browsed files first, then what the daemon lists."""

    def __init__(self) -> None:
        super().__init__()
        self._browsed: list[PolicyInfo] = []
        self._saved: list[PolicyInfo] = []
        self.policies: list[PolicyInfo] = []
        """Made when something comes: sorting asks for it with every comparison."""

    def take(self, saved: Sequence[PolicyInfo]) -> None:
        """What the daemon lists now."""
        if list(saved) != self._saved:
            self.beginResetModel()
            self._saved = list(saved)
            self._join()
            self.endResetModel()

    def add(self, browsed: PolicyInfo) -> None:
        """A file that the user browsed for; it stays as long as the window."""
        self.beginResetModel()
        self._browsed = [browsed, *(one for one in self._browsed if one.path != browsed.path)]
        self._join()
        self.endResetModel()

    def _join(self) -> None:
        known = {policy.path for policy in self._saved}
        self.policies = [policy for policy in self._browsed if policy.path not in known] + self._saved

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.policies)

    def columnCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[section]
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        policy = self.policies[index.row()]
        if role == POLICY:
            return policy
        if role == Qt.ItemDataRole.DisplayRole:
            return cells(policy)[index.column()]
        if role == SORT:
            return _sorted_by(policy)[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(policy.path)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        return None


def name_of_policy(policy: PolicyInfo) -> str:
    return plain_line(policy.label or PurePath(policy.path).name)


def cells(policy: PolicyInfo) -> tuple[str, ...]:
    return (
        name_of_policy(policy),
        plain_line(policy.env_id) or "–",
        plain_line(policy.algo) or "–",
        "–" if policy.global_step is None else f"{policy.global_step:,}",
        "–" if policy.last_return is None else f"{policy.last_return:,.1f}",
        moment(policy.saved_at),
    )


def moment(unix_s: float) -> str:
    """The time of today, else the date."""
    if not unix_s:
        return "–"
    when = datetime.fromtimestamp(unix_s).astimezone()
    return when.strftime("%H:%M:%S" if time.time() - unix_s < DAY_S / 2 else "%Y-%m-%d %H:%M")


def _sorted_by(policy: PolicyInfo) -> tuple[str | float, ...]:
    nothing = float("-inf")
    return (
        name_of_policy(policy).lower(),
        policy.env_id.lower(),
        policy.algo.lower(),
        nothing if policy.global_step is None else policy.global_step,
        nothing if policy.last_return is None else policy.last_return,
        policy.saved_at,
    )


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter
