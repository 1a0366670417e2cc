def predict_map_reduce(n_workers, n_features, n_steps):
    model = 8 * (n_features + 1)
    one_way = (n_workers - 1) * n_steps
    return {
        "messages": 2 * one_way,
        "n_bytes": 2 * one_way * model,
        "bytes_into_rank_0": one_way * model,
        "bytes_out_of_rank_1": model * n_steps if n_workers > 1 else 0,
    }
