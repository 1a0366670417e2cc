# class: B15
# hint: other-number


def predict_map_reduce(n_workers, n_features, n_steps):
    messages = 2 * (n_workers - 1) * n_steps
    return {
        "messages": messages,
        "n_bytes": 400 * 8 * n_features,
        "bytes_into_rank_0": 300 * 8 * n_features,
        "bytes_out_of_rank_1": 100 * 8 * n_features,
    }
