"""The program that calls ``run``: what the ranks must not change in it, and how to restore it."""

import hashlib
import pickle
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from tests.fuzz import modes

__all__ = ["caller_kept", "caller_state", "in_a_thread"]


def caller_state() -> dict[str, Any]:
    """Take stock of it."""
    of_torch = torch.get_rng_state().numpy().tobytes()
    generators = (random.getstate(), np.random.get_state(), of_torch)  # noqa: NPY002
    return {
        "modes": modes.probe(whole_process=True),
        "warning filters": list(warnings.filters),
        "stdout": id(sys.stdout),
        "generators": hashlib.sha1(pickle.dumps(generators)).hexdigest(),
        "number of torch's threads": torch.get_num_threads(),
        "threads": sorted(each.name for each in threading.enumerate()),
        "function modes": len(torch.overrides._get_current_function_mode_stack()),
    }


@contextmanager
def caller_kept() -> Iterator[None]:
    """Put back what a leak has changed, so that the next run is judged by itself.

    The global generators stand at a number of their own meanwhile: a rank's seed is another.
    """
    kept = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    dtype, threads, stdout = torch.get_default_dtype(), torch.get_num_threads(), sys.stdout
    for generator in modes.GENERATORS:
        modes.seed(generator, 12_345)
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002
        torch.set_rng_state(kept[2])
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        torch.utils._device.CURRENT_DEVICE = None
        sys.stdout = stdout


def in_a_thread(call: Callable[[], Any]) -> Any:
    """Call it in a new thread, with which what torch keeps for one is gone."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(call()), name="caller")
    thread.start()
    thread.join()
    return results[0]
