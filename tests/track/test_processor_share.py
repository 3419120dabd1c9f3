"""An exporter says when it does not get the processor, and gives way less once its run has ended."""

import os
import subprocess
import sys
import threading

import pytest

from mosaic.operating_system import LINUX, waited_s
from mosaic.spec.run_dir import RunDir
from mosaic.track import export_state
from mosaic.track.export_state import Export, ExportUnderWay
from mosaic.track.processor_share import Waiting

RUN = "01K9CG05J5Y0FFQMT1T920EZK2"


def test_it_waits_where_it_could_have_run_for_most_of_the_time_and_did_not():
    waiting = Waiting(thread=1)
    assert not waiting.look(100.0, 7.0), "there is nothing to compare with yet"
    assert not waiting.look(105.0, 9.0), "2 of 5 seconds"
    assert waiting.look(110.0, 13.0), "4 of 5 seconds"
    assert not waiting.look(115.0, None), "the system does not tell"
    assert not waiting.look(120.0, 14.0)


@pytest.mark.skipif(not LINUX, reason="only Linux tells")
def test_the_system_tells_how_long_a_thread_has_waited():
    waited = waited_s(threading.get_native_id())
    assert waited is not None
    assert waited >= 0
    assert waited_s(2**30) is None


def test_what_waits_is_written_down_until_the_export_has_ended(tmp_path):
    run_dir = RunDir(tmp_path / RUN)
    run_dir.export_state(export_state.WANDB).parent.mkdir(parents=True)
    with ExportUnderWay(run_dir, export_state.WANDB) as progress:
        progress.tell(rows=3)
        progress.wait_for_cpu(True)
        told = export_state.read(run_dir)
        assert told is not None
        assert (told.rows, told.waits_for_cpu, export_state.spoken(told)) == (3, True, "exporting, waiting for CPU")
        progress.tell(state="synced")
        progress.wait_for_cpu(True)
        ended = export_state.read(run_dir)
        assert ended is not None
        assert not ended.waits_for_cpu
    assert export_state.spoken(Export(state="failed")) == "failed"


RAISED = """
import os, threading
from mosaic import operating_system
from mosaic.track import processor_share
os.nice(19)
thread = threading.Thread(target=threading.Event().wait, daemon=True)
thread.start()
processor_share.give_way_less()
print(os.nice(0), os.getpriority(os.PRIO_PROCESS, thread.native_id))
"""


@pytest.mark.skipif(not LINUX or os.geteuid() != 0, reason="only root may raise a priority everywhere")
def test_a_process_gives_way_less_with_all_its_threads():
    done = subprocess.run([sys.executable, "-c", RAISED], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-2:] == ["10", "10"]
