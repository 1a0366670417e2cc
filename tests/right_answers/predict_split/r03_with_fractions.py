from fractions import Fraction


def predict_split(ranks, examples, n_in, hidden, n_out):
    part = Fraction(ranks - 1, ranks)
    weights = n_in * hidden + hidden * n_out + hidden + n_out
    return {
        "by_units": int(8 * part * examples * (hidden + n_out)),
        "pair_forward": int(16 * part * examples * n_out),
        "pair_backward": int(16 * part * examples * n_in),
        "data_parallel": int(16 * part * weights),
    }
