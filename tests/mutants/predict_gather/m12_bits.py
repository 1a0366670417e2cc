# class: C3
# hint: bits
def predict_gather(n_workers, n_numbers):
    others = n_workers - 1
    return {
        "messages": 2 * others,
        "n_bytes": 2 * others * n_numbers * 64,
        "bytes_into_rank_0": others * n_numbers * 64,
    }
