"""How many threads a fit uses, and BLAS beside them."""

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController


def threads_of(n_jobs: int | None) -> int:
    """Number of threads for ``n_jobs``; None for all cores, or as many as OMP_NUM_THREADS allows."""
    if n_jobs is None:
        return min(int(joblib.cpu_count()), int(os.environ.get("OMP_NUM_THREADS") or 2**31))
    return int(joblib.effective_n_jobs(n_jobs))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread: several give other bits, and rows are shared among threads already."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
