"""Measurements, their medians, and the table of them."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.cases import Case


@dataclass
class Side:
    """What one side reached, one figure a repetition."""

    steps_per_s: list[float] = field(default_factory=list[float])
    steps_per_cpu_s: list[float] = field(default_factory=list[float])
    """By processor time of all threads, which other work on the machine disturbs less."""

    def add(self, steps: int, wall_s: float, cpu_s: float) -> None:
        self.steps_per_s.append(steps / wall_s)
        self.steps_per_cpu_s.append(steps / cpu_s)


@dataclass
class Row:
    """One case, measured."""

    case: Case
    ours: Side = field(default_factory=Side)
    sb3: Side = field(default_factory=Side)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ours.steps_per_s) / statistics.median(self.sb3.steps_per_s)

    @property
    def cpu_ratio(self) -> float:
        return statistics.median(self.ours.steps_per_cpu_s) / statistics.median(self.sb3.steps_per_cpu_s)

    @property
    def pair_ratios(self) -> list[float]:
        return [ours / sb3 for ours, sb3 in zip(self.ours.steps_per_s, self.sb3.steps_per_s, strict=True)]

    @property
    def ok(self) -> bool:
        return self.ratio >= self.case.floor

    def to_json(self) -> dict[str, Any]:
        return {
            "case": self.case.name,
            "ours": asdict(self.ours),
            "sb3": asdict(self.sb3),
            "ratio": self.ratio,
            "cpu_ratio": self.cpu_ratio,
            "floor": self.case.floor,
            "ok": self.ok,
        }


def table(rows: Sequence[Row]) -> str:
    """Markdown."""
    lines = [
        "| case | n | ours, steps/s | SB3, steps/s | ratio | each pair | ratio by CPU time | floor | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        pairs = ", ".join(f"{ratio:.2f}" for ratio in row.pair_ratios)
        name = f"{row.case.name} (against plain torch)" if row.case.plain else row.case.name
        ours, sb3 = (statistics.median(side.steps_per_s) for side in (row.ours, row.sb3))
        lines.append(
            f"| {name} | {len(row.pair_ratios)} | {ours:,.0f} | {sb3:,.0f} | **{row.ratio:.2f}** | {pairs} |"
            f" {row.cpu_ratio:.2f} | {row.case.floor:g} | {'ok' if row.ok else 'short'} |"
        )
    return "\n".join(lines)
