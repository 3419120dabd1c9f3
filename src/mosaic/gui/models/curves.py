"""The curves of the opened runs: every tag, every point."""

from collections.abc import Sequence

from mosaic.gui.models.batch import NewPoints
from mosaic.gui.models.series import Series

_FIRST = (
    "charts/episodic_return",
    "eval/mean_return",
    "losses/entropy",
    "losses/value_loss",
    "losses/policy_loss",
    "losses/td_loss",
    "charts/SPS",
    "charts/episodic_length",
)
"""Tags that people look at first; the others follow by name."""


class Curves:
    """Run to tag to series."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, Series]] = {}
        self._began: dict[str, float] = {}

    def take(self, news: NewPoints) -> None:
        if news.anew:
            self.drop(news.run_id)
        tags = self._runs.setdefault(news.run_id, {})
        for tag, points in news.points.items():
            tags.setdefault(tag, Series()).extend(points)
            if len(points.times):
                first = float(points.times[0])
                self._began[news.run_id] = min(first, self._began.get(news.run_id, first))

    def drop(self, run_id: str) -> None:
        self._runs.pop(run_id, None)
        self._began.pop(run_id, None)

    def keep(self, run_ids: Sequence[str]) -> None:
        """Forget all other runs."""
        for run_id in [run_id for run_id in self._runs if run_id not in run_ids]:
            self.drop(run_id)

    def get(self, run_id: str, tag: str) -> Series | None:
        return self._runs.get(run_id, {}).get(tag)

    def began(self, run_id: str) -> float:
        """Time of the run's first point, of whatever tag."""
        return self._began.get(run_id, 0.0)

    def tags(self) -> list[str]:
        found = {tag for tags in self._runs.values() for tag in tags}
        return sorted(found, key=lambda tag: (_FIRST.index(tag) if tag in _FIRST else len(_FIRST), tag))
