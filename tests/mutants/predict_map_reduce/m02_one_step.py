# class: B4
# hint: one-step


def predict_map_reduce(n_workers, n_features, n_steps):
    messages = 2 * (n_workers - 1)
    return {
        "messages": messages,
        "n_bytes": messages * 8 * (n_features + 1),
        "bytes_into_rank_0": messages * 4 * (n_features + 1),
        "bytes_out_of_rank_1": 8 * (n_features + 1) * (n_workers > 1),
    }
