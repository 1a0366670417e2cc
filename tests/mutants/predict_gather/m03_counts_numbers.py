# class: C3
# hint: counts-numbers


def predict_gather(n_workers, n_numbers):
    others = n_workers - 1
    return {
        "messages": 2 * others,
        "n_bytes": 2 * others * n_numbers,
        "bytes_into_rank_0": others * n_numbers,
    }
