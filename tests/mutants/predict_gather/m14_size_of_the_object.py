# class: B15
# hint: object-size
import sys

import numpy as np


def predict_gather(n_workers, n_numbers):
    others, n_bytes = n_workers - 1, sys.getsizeof(np.zeros(n_numbers))
    return {
        "messages": 2 * others,
        "n_bytes": 2 * others * n_bytes,
        "bytes_into_rank_0": others * n_bytes,
    }
