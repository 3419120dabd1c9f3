"""A module whose import does not end, for dry runs of an environment that it would register."""

import time

time.sleep(600)
