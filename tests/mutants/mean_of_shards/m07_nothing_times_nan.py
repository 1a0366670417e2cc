# class: C1
# hint: empty-part


def mean_of_shards(means, n_rows):
    return n_rows @ means / n_rows.sum()
