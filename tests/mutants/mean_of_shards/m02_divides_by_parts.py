# class: B3
# hint: divides-by-parts


def mean_of_shards(means, n_rows):
    return n_rows @ means / len(n_rows)
