"""The real Metrics tab on a studio that is fed by hand."""

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtWidgets import QApplication

from mosaic.gui.models.charts.chart_options import ChartOptions
from mosaic.gui.models.charts.series import Column
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Batch, NewPoints, Points
from mosaic.gui.models.daemon.news_feed import NewsFeed
from mosaic.gui.models.studio import Studio
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.chart_card import ChartCard
from mosaic.gui.widgets.charts.scalar_chart import ScalarChart
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

from ..event_loop import run_until

RETURN = "charts/episodic_return"


class Fed:
    def __init__(self, application: QApplication, home: Home) -> None:
        self.theme = Theme(application)
        link = DaemonLink(home)
        self.studio = Studio(home, NewsFeed(link), link)
        self.tab = MetricsTab(self.studio, self.theme)
        self.tab.resize(1030, 620)
        self.tab.show()

    def select(self, count: int, group: str = "") -> list[str]:
        ids = [new_run_id() for _ in range(count)]
        records = [
            RunRecord(run_id=run_id, algo="ppo", env_id="CartPole-v1", seed=n, state=RunState.RUNNING, group=group)
            for n, run_id in enumerate(ids, start=1)
        ]
        self.studio.take(Batch(records=tuple(records)))
        self.studio.select(ids)
        return ids

    def feed(self, run_id: str, values: Sequence[float] | Column, *, first: int = 0, tag: str = RETURN) -> None:
        steps = [float(first + place) for place in range(len(values))]
        points = Points(steps, [1.7e9 + step for step in steps], np.asarray(values, dtype=float).tolist())
        self.studio.take(Batch(points=(NewPoints(run_id, {tag: points}),)))

    def until(self, holds: Callable[[], object], what: str = "") -> None:
        run_until(holds, what)

    def card(self, tag: str = RETURN) -> ChartCard:
        """Drawn, with all that was fed."""
        self.until(lambda: any(card.tag == tag for card in self.tab.grid.seen()), f"a card of {tag}")
        card = next(card for card in self.tab.grid.cards() if card.tag == tag)
        self.tab.refresh()

        def is_drawn() -> bool:
            view = self.tab.controls.view
            wanted = self.tab.charts.signature(
                tag, self.tab.members(), ChartOptions(view.x, view.seeds, view.window, card.log)
            )
            return card.chart is not None and card.drawn == wanted

        self.until(is_drawn, f"the chart of {tag}")
        return card

    def chart(self, tag: str = RETURN) -> ScalarChart:
        chart = self.card(tag).chart
        assert chart is not None
        return chart
