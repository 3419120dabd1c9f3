"""The worker process: single-file algorithms, and the small kit that they stand on."""

import os

# Read by OpenMP, MKL and OpenBLAS when they load, hence before anything imports numpy or torch. More threads than
# this make networks of this size slower, up to ten times when anything else runs on the machine.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
