"""A script as the catalogue lists it, and the page that the studio's help shows."""

from typing import Any

from mosaic.scripts.script import Script

_STYLES = {
    "tyro": "Its fields are those of the dataclass that it hands to tyro.",
    "argparse": "It parses its flags with argparse: write them into `script_flags`.",
    "plain": "It has no flags that could be read: what it takes stands in `script_flags`.",
}


def described(script: Script) -> dict[str, Any]:
    """An entry like those of `cleanrl_worker.describe`; its actions and observations are not known."""
    return {
        "name": str(script.path),
        "summary": script.summary,
        "actions": "",
        "observations": "",
        "schema": script.schema,
        "docs": page(script),
    }


def page(script: Script) -> str:
    missing = [name for name in ("env_id", "total_timesteps", "seed") if name not in script.named]
    lines = [
        f"# {script.name}",
        "",
        f"{script.summary}",
        "",
        f"`{script.path}`, a script that runs as it is: {_STYLES[script.style]}",
        "",
        f"- Written for Gymnasium {script.idioms}"
        + ("; its idioms are translated for the one that is installed." if script.idioms == "0.29" else "."),
        "- It runs in `work/` of its run directory, and may write nowhere else.",
        "- A cancel reaches it as Ctrl-C does. It cannot be resumed: it has no checkpoints of ours.",
    ]
    if missing:
        lines.append(f"- It has no flag for {', '.join(missing)}.")
    return "\n".join([*lines, "", "`docs/scripts.md` tells the rest.", ""])
