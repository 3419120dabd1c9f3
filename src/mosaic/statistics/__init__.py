"""Statistics of scores over seeds and environments: numpy alone, the same in command line, window and worker.

Scores of a group of runs are *tasks*: one array for each environment, one number for each run in it. docs/statistics.md
says which formula is where, and what the intervals are worth with few seeds.
"""
