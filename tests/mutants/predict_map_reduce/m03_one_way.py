# class: B15
# hint: one-way


def predict_map_reduce(n_workers, n_features, n_steps):
    messages = (n_workers - 1) * n_steps
    return {
        "messages": messages,
        "n_bytes": messages * 8 * (n_features + 1),
        "bytes_into_rank_0": messages * 8 * (n_features + 1),
        "bytes_out_of_rank_1": 8 * (n_features + 1) * n_steps * (n_workers > 1),
    }
