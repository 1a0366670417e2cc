# class: B3
# hint: inverse-weights


def mean_of_shards(means, n_rows):
    weights = 1 / n_rows
    return weights @ means / weights.sum()
