"""How figures look, on light and on dark ground, and how they are saved; matplotlib is asked for here and drawn with.

Colours are Okabe and Ito's, which readers with any kind of colour vision tell apart, without the yellow.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from mosaic.errors import HomeUnusable
from mosaic.spec.files.shared_files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Ground: TypeAlias = Literal["light", "dark"]
DOTS_AN_INCH = 200
BAND: Final = 0.18
"""How much of a band's colour is seen."""


@dataclass(frozen=True)
class Style:
    ground: str
    ink: str
    faint: str
    grid: str
    colours: tuple[str, ...]

    def colour(self, place: int) -> str:
        return self.colours[place % len(self.colours)]


STYLES: Mapping[Ground, Style] = {
    "light": Style(
        "#ffffff",
        "#222222",
        "#666666",
        "#e4e4e4",
        ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"),
    ),
    "dark": Style(
        "#16181d",
        "#e6e6e6",
        "#9aa0a6",
        "#2c3038",
        ("#56b4e9", "#ff8a3d", "#2fd0a2", "#e79cc6", "#f0c04a", "#8fa8ff", "#bbbbbb"),
    ),
}


def new_figure(width: float, height: float, style: Style) -> "Figure":
    from matplotlib.figure import Figure

    # Not pyplot: it keeps figures and chooses a window system.
    return Figure(figsize=(width, height), facecolor=style.ground, layout="constrained")


def dress(axes: "Axes", style: Style, *, title: str = "", x: str = "", y: str = "") -> None:
    """Two spines, a faint grid behind, words in our ink."""
    axes.set_facecolor(style.ground)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(style.faint)
    axes.tick_params(colors=style.faint, labelcolor=style.ink, labelsize=9, length=3)
    axes.grid(True, color=style.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title(title, color=style.ink, fontsize=11, loc="left")
    axes.set_xlabel(x, color=style.ink, fontsize=10)
    axes.set_ylabel(y, color=style.ink, fontsize=10)


def name_curves(figure: "Figure", handles: "Sequence[Line2D]", style: Style) -> None:
    """One legend for the whole figure, below it, where it covers nothing."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = max(1, min(len(handles), int(figure.get_figwidth() * 13 / (longest + 6))))
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=9,
        labelcolor=style.ink,
    )


def steps_text(value: float, _place: float = 0.0) -> str:
    """20k, 1.5M."""
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:g}{unit}"
    return f"{value:g}"


def svg(figure: "Figure") -> str:
    """As text, the same for the same figure: no date, and ids that do not change."""
    import matplotlib

    out = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "mosaic", "svg.fonttype": "path"}):
        figure.savefig(out, format="svg", metadata={"Date": None}, facecolor=figure.get_facecolor())
    return out.getvalue().decode()


def save(figures: "Mapping[str, Figure]", folder: Path) -> list[Path]:
    """Each as PNG and SVG; a file appears whole or not at all."""
    made: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            png = io.BytesIO()
            figure.savefig(png, format="png", dpi=DOTS_AN_INCH, facecolor=figure.get_facecolor())
            for path, content in (
                (folder / f"{name}.png", png.getvalue()),
                (folder / f"{name}.svg", svg(figure).encode()),
            ):
                write_atomically(path, content)
                made.append(path)
    except OSError as error:
        raise HomeUnusable(f"{folder} could not be written: {error.strerror}; name another folder") from error
    return made
