# class: C9
# hint: out-of-order


def shard_bounds(n_rows, rank, size):
    back = size - 1 - rank
    return back * n_rows // size, (back + 1) * n_rows // size
