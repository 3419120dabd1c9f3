"""An HTML page that is one file: without scripts, with nothing from a network, light or dark as the reader's system.

A policy in its head (CSP) makes a browser hold it to that: nothing is loaded but pictures and films that are in the
file itself, and no style counts but the one that the policy names by its digest. Every text is escaped.
"""

import base64
import hashlib
from collections.abc import Sequence
from html import escape

from mosaic.plain_text import plain_line

CSS = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #222222; --faint: #666666; --line: #e4e4e4;
        --mark: #fff3d6; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em;
       background: var(--ground); color: var(--ink); }
table { border-collapse: collapse; margin: .5em 0 1.5em; font-size: 13px; display: block; overflow-x: auto; }
th, td { text-align: left; padding: .25em .8em; border-bottom: 1px solid var(--line); white-space: nowrap; }
td.right, th.right { text-align: right; font-variant-numeric: tabular-nums; }
h1 { font-size: 1.5em; overflow-wrap: anywhere; } h2 { font-size: 1.15em; margin-top: 2em; }
figure { margin: 1em 0 2em; } figcaption, .faint { color: var(--faint); font-size: 13px; }
svg { max-width: 100%; height: auto; } code { font-size: 13px; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16181d; --ink: #e6e6e6; --faint: #9aa0a6; --line: #2c3038; --mark: #3d3420; }
}
"""


def text(words: object) -> str:
    """Words of others, as they are to be read."""
    return escape(plain_line(str(words)))


def document(title: str, body: str, *, css: str = "", styles_inside: bool = False) -> str:
    """The whole page; `styles_inside` lets drawings of others carry styles of their own."""
    style = CSS + css
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    allowed = "'unsafe-inline'" if styles_inside else f"'sha256-{digest}'"
    policy = (
        f"default-src 'none'; img-src data:; media-src data:; style-src {allowed}; base-uri 'none'; form-action 'none'"
    )
    return (
        "<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>"
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta name='referrer' content='no-referrer'>"
        f"<title>{text(title)}</title><style>{style}</style></head><body>{body}</body></html>\n"
    )


def table(names: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> str:
    """Of texts."""
    return table_of(names, [[text(cell) for cell in row] for row in rows], right=right)


def table_of(names: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> str:
    """Of cells that are HTML already; the names are texts."""
    sides = [" class='right'" if name in right else "" for name in names]

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(f"<{tag}{side}>{cell}</{tag}>" for cell, side in zip(cells, sides, strict=True))

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{line([text(name) for name in names], 'th')}</tr></thead><tbody>{body}</tbody></table>"
