# class: C3
# hint: four-bytes


def predict_gather(n_workers, n_numbers):
    others = n_workers - 1
    return {
        "messages": 2 * others,
        "n_bytes": 2 * others * 4 * n_numbers,
        "bytes_into_rank_0": others * 4 * n_numbers,
    }
