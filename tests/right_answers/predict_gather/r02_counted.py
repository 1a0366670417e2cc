import numpy as np


def predict_gather(n_workers, n_numbers):
    n_bytes = np.zeros(n_numbers).nbytes
    messages = [(src, 0) for src in range(1, n_workers)]
    messages += [(0, dst) for dst in range(1, n_workers)]
    return {
        "messages": len(messages),
        "n_bytes": len(messages) * n_bytes,
        "bytes_into_rank_0": sum(dst == 0 for _, dst in messages) * n_bytes,
    }
