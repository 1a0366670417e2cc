# class: B4
# hint: counts-rank-0


def predict_gather(n_workers, n_numbers):
    return {
        "messages": 2 * n_workers,
        "n_bytes": 16 * n_workers * n_numbers,
        "bytes_into_rank_0": 8 * n_workers * n_numbers,
    }
