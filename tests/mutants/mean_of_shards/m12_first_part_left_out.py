# class: B10
# hint: wrong-value


def mean_of_shards(means, n_rows):
    return n_rows[1:] @ means[1:] / n_rows.sum()
