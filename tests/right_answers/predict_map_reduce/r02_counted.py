from collections import Counter

import numpy as np


def predict_map_reduce(n_workers, n_features, n_steps):
    n_bytes = np.zeros(1 + n_features).nbytes
    sent = Counter()
    for _ in range(n_steps):
        for rank in range(1, n_workers):
            sent[rank] += n_bytes
            sent[0] += n_bytes
    return {
        "messages": sum(sent.values()) // n_bytes,
        "n_bytes": sum(sent.values()),
        "bytes_into_rank_0": sum(n for rank, n in sent.items() if rank != 0),
        "bytes_out_of_rank_1": sent[1],
    }
