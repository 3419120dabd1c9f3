"""Run ids sort by the time they were made, and are those of the specification."""

import re
import subprocess
import sys
import time

from mosaic.spec import ulid


def test_the_known_example_is_read():
    # https://github.com/ulid/spec: 01ARYZ6S41 is the millisecond 1469918176385.
    assert ulid.unix_s("01ARYZ6S41TSV4RRFFQ69G5FAV") == 1469918176.385
    assert ulid.new(1469918176.385).startswith("01ARYZ6S41")


def test_ids_of_one_moment_sort_as_they_were_made():
    before = time.time()
    made = [ulid.new() for _ in range(5000)]
    after = time.time()
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", one) for one in made)
    # To the millisecond; ids of one process never go back.
    assert before - 0.001 <= ulid.unix_s(made[-1]) <= after + 0.001


FORK = """
import os
from mosaic.spec import ulid
ulid.new()
child = os.fork()
made = " ".join(ulid.new() for _ in range(100))
child and os.waitpid(child, 0)
print(made, flush=True)
"""


def test_a_forked_process_makes_others():
    said = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True).stdout.split()
    assert len(said) == len(set(said)) == 200


def test_the_next_one_sorts_next():
    assert ulid.after("01ARYZ6S41TSV4RRFFQ69G5FAV") == "01ARYZ6S41TSV4RRFFQ69G5FAW"
    assert ulid.after("01ARYZ6S41ZZZZZZZZZZZZZZZZ") == "01ARYZ6S420000000000000000"
    assert ulid.from_bytes(bytes(15) + b"\x21") == "00000000000000000000000011"
