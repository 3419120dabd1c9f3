"""Trackers beside a run: the daemon starts its exporters, a stand-alone run starts them itself."""

import os
import sys

from mosaic.errors import MosaicError
from mosaic.spec.catalogue.extras import TRACKERS
from mosaic.spec.processes.life_lock import INHERITED
from mosaic.spec.run_config import TrainOptions, with_passwords
from mosaic.spec.run_dir import RunDir


def refuse_missing(options: TrainOptions) -> None:
    """MissingExtra before a stand-alone run begins; the daemon has looked at its own runs when they were submitted."""
    if not os.environ.get(INHERITED):
        for tracker, extra in TRACKERS.items():
            if getattr(options, f"track_{tracker}"):
                extra.require(f"--track-{tracker}")


def start_exporters(run_dir: RunDir, options: TrainOptions) -> None:
    """A process of its own for each tracker, that follows this run; whatever happens to it, the training goes on."""
    if os.environ.get(INHERITED):
        return
    from mosaic.track import trackers
    from mosaic.track.start_exporter import start

    for tracker in trackers.chosen_by(options):
        try:
            # Nothing waits for it: it ends some time after this process, and Popen would warn about that.
            start(run_dir, {**os.environ, **with_passwords(options)}, tracker=tracker).returncode = 0
        except (OSError, MosaicError) as error:
            sys.stderr.write(f"warning: {error}; the training goes on without it\n")


def outlook(options: TrainOptions) -> str:
    """For a dry run: what an export would meet."""
    if not options.track_wandb:
        return "off"
    from mosaic.track import export_to_wandb, wandb_network

    try:
        chosen = export_to_wandb.choose(wandb_network.network_of(options))
    except MosaicError as error:
        return str(error)
    return "online" if chosen.online else f"offline: {chosen.why}"
