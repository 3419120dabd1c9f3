"""Exports of runs to trackers: started, watched and uploaded."""
