# class: B12
# hint: changes-input


def mean_of_shards(means, n_rows):
    means[n_rows == 0] = 0
    means *= n_rows[:, None]
    return means.sum(axis=0) / n_rows.sum()
