import numpy as np


def wasted_bytes(trace, n_bytes):
    P = trace.size
    return np.maximum(np.array(trace.bytes_sent()) - 2 * (P - 1) / P * n_bytes, 0)
