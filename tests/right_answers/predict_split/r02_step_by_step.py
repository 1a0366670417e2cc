def predict_split(ranks, examples, n_in, hidden, n_out):
    by_units = forward = backward = gradients = 0
    for _ in range(ranks - 1):
        by_units += examples * (hidden + n_out) // ranks
        forward += 2 * examples * n_out // ranks
        backward += 2 * examples * n_in // ranks
        gradients += 2 * (n_in * hidden + hidden + hidden * n_out + n_out) // ranks
    return {
        "data_parallel": 8 * gradients,
        "pair_backward": 8 * backward,
        "pair_forward": 8 * forward,
        "by_units": 8 * by_units,
    }
