"""Naming a run on the command line: its id, the beginning or the end of it, or @last."""

from mosaic.errors import RunNotFound
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_list import all_runs


def pick_run(home: Home, word: str) -> RunDir:
    runs = all_runs(home)
    if word == "@last":
        if not runs:
            raise RunNotFound(word, hint=f"{home.runs} holds no run yet; 'mosaic train ppo' makes one")
        return runs[-1]
    wanted = word.upper()
    found = [run for run in runs if run.run_id.startswith(wanted) or run.run_id.endswith(wanted)]
    if len(found) == 1:
        return found[0]
    near = [run.run_id for run in found[:3]]
    raise RunNotFound(word, near, hint="more letters of the id make it unique" if found else "")
