# class: B15
# hint: hidden-sent
def predict_split(ranks, examples, n_in, hidden, n_out):
    def ring(numbers):
        return 2 * (ranks - 1) * numbers // ranks * 8

    return {
        "by_units": (ranks - 1) * examples * (hidden + n_out) // ranks * 8,
        "pair_forward": ring(examples * hidden),
        "pair_backward": ring(examples * n_in),
        "data_parallel": ring(n_in * hidden + hidden + hidden * n_out + n_out),
    }
