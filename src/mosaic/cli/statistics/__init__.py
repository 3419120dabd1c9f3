"""The verb that says what groups of runs are worth: statistics, tables, figures and a report."""
