# class: C3
# hint: dtype


def mean_of_shards(means, n_rows):
    held = n_rows > 0
    return (n_rows[held] @ means[held] // n_rows.sum()).astype(int)
