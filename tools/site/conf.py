"""Settings of Sphinx for the documentation site; `make docs` copies the pages beside this file's copy."""

from importlib import metadata

project = "MOSAIC"
copyright = "the authors of MOSAIC"  # noqa: A001
release = version = metadata.version("mosaic-rl")
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
root_doc = "index"
# Headings are linked to as on GitHub, down to this depth.
myst_heading_anchors = 5
myst_enable_extensions = ["colon_fence"]
# Blocks show what a user sees, and JSON of ours has comments and dots; a wrong lexer is not an error.
suppress_warnings = ["misc.highlighting_failure"]
copybutton_prompt_text = "$ "
html_theme = "furo"
html_title = "MOSAIC"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#0063a0"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#7cc4ee"},
    "navigation_with_keys": True,
}
