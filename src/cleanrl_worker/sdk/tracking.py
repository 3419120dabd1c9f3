"""Trackers beside a run: the daemon starts its exporters, a stand-alone run starts them itself."""

import importlib.util
import os
import sys

from mosaic.errors import MissingExtra, MosaicError
from mosaic.spec.life_lock import INHERITED
from mosaic.spec.run_config import TrainOptions, with_passwords
from mosaic.spec.run_dir import RunDir


def start_exporters(run_dir: RunDir, options: TrainOptions) -> None:
    """A process of its own for each tracker, that follows this run; whatever happens to it, the training goes on."""
    if os.environ.get(INHERITED):
        return
    from mosaic.track import trackers
    from mosaic.track.start import start

    for tracker in trackers.chosen_by(options):
        try:
            if importlib.util.find_spec(tracker) is None:
                raise MissingExtra(f"the export to {tracker}", tracker)
            # Nobody waits for it: it ends some time after this process, and Popen would warn about that.
            start(run_dir, {**os.environ, **with_passwords(options)}, tracker=tracker).returncode = 0
        except (OSError, MosaicError) as error:
            sys.stderr.write(f"warning: {error}; the training goes on without it\n")


def outlook(options: TrainOptions) -> str:
    """For a dry run: what an export would meet."""
    if not options.track_wandb:
        return "off"
    if importlib.util.find_spec("wandb") is None:
        return str(MissingExtra("the export", "wandb"))
    from mosaic.track import export, network

    try:
        chosen = export.choose(network.network_of(options))
    except MosaicError as error:
        return str(error)
    return "online" if chosen.online else f"offline: {chosen.why}"
