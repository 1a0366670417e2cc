def predict_split(ranks, examples, n_in, hidden, n_out):
    sizes = {
        "pair_forward": examples * n_out,
        "pair_backward": examples * n_in,
        "data_parallel": (n_in + 1) * hidden + (hidden + 1) * n_out,
    }
    own = 8 * examples * (hidden // ranks + n_out // ranks)
    found = {name: 2 * (ranks - 1) * 8 * (n // ranks) for name, n in sizes.items()}
    return {"by_units": own * (ranks - 1), **found}
