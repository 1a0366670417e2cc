# class: B15
# hint: one-message


def predict_gather(n_workers, n_numbers):
    others = n_workers - 1
    return {
        "messages": 2 * others,
        "n_bytes": 8 * n_numbers,
        "bytes_into_rank_0": 8 * others * n_numbers,
    }
