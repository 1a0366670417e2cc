# class: B15
# hint: forgot-answers


def predict_gather(n_workers, n_numbers):
    others = n_workers - 1
    return {
        "messages": others,
        "n_bytes": 8 * others * n_numbers,
        "bytes_into_rank_0": 8 * others * n_numbers,
    }
