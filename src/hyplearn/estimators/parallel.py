"""How many threads work, and how many of them are BLAS's."""

import os
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController


def thread_count(n_jobs: int | None) -> int:
    """Number of threads for ``n_jobs`` as scikit-learn understands it, except that None stands for all cores.

    Threads here share one copy of the data and change no result, so there is no reason to leave cores idle;
    ``OMP_NUM_THREADS`` is respected.
    """
    if n_jobs is None:
        return min(int(joblib.cpu_count()), int(os.environ.get("OMP_NUM_THREADS") or 2**31))
    return int(joblib.effective_n_jobs(n_jobs))


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Where BLAS is kept to one thread: several give other bits, and here rows are shared among threads already."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
