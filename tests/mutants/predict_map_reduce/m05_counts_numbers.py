# class: C3
# hint: counts-numbers


def predict_map_reduce(n_workers, n_features, n_steps):
    messages = 2 * (n_workers - 1) * n_steps
    return {
        "messages": messages,
        "n_bytes": messages * (n_features + 1),
        "bytes_into_rank_0": messages // 2 * (n_features + 1),
        "bytes_out_of_rank_1": (n_features + 1) * n_steps * (n_workers > 1),
    }
