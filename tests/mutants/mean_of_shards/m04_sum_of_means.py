# class: B3
# hint: sum-of-means


def mean_of_shards(means, n_rows):
    return means.sum(axis=0)
