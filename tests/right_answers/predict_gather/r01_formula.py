def predict_gather(n_workers, n_numbers):
    into = 8 * n_numbers * (n_workers - 1)
    return {"messages": 2 * n_workers - 2, "n_bytes": 2 * into, "bytes_into_rank_0": into}
