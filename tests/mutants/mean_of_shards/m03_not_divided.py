# class: B3
# hint: not-divided


def mean_of_shards(means, n_rows):
    return n_rows @ means
