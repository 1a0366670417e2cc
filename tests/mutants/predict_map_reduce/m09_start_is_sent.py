# class: B15
# hint: start-model


def predict_map_reduce(n_workers, n_features, n_steps):
    others, n_bytes = n_workers - 1, 8 * (n_features + 1)
    return {
        "messages": (2 * n_steps + 1) * others,
        "n_bytes": (2 * n_steps + 1) * others * n_bytes,
        "bytes_into_rank_0": n_steps * others * n_bytes,
        "bytes_out_of_rank_1": n_steps * n_bytes if others else 0,
    }
