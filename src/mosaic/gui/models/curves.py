"""The curves of the opened runs: every tag, every point."""

from collections.abc import Sequence

from mosaic.gui.models.batch import Opened
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

    def take(self, news: Opened) -> None:
        if news.restarted:
            self.drop(news.run_id)
        tags = self._runs.setdefault(news.run_id, {})
        for stretch in news.stretches:
            if stretch.resumed_from is not None:
                for series in tags.values():
                    series.cut_after(stretch.resumed_from)
            for tag, points in stretch.points.items():
                tags.setdefault(tag, Series()).extend(points)

    def drop(self, run_id: str) -> None:
        self._runs.pop(run_id, None)

    def keep(self, run_ids: Sequence[str]) -> None:
        """Forget all other runs."""
        self._runs = {run_id: tags for run_id, tags in self._runs.items() if run_id in run_ids}

    def get(self, run_id: str, tag: str) -> Series | None:
        return self._runs.get(run_id, {}).get(tag)

    def tags(self) -> list[str]:
        found = {tag for tags in self._runs.values() for tag in tags}
        return sorted(found, key=lambda tag: (_FIRST.index(tag) if tag in _FIRST else len(_FIRST), tag))
