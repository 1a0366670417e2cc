# class: B3
# hint: mean-of-means


def mean_of_shards(means, n_rows):
    return means.mean(axis=0)
