# class: C2
# hint: three-axes


def what_is_wrong(weights, rows):
    twice = len(set(rows)) < len(rows)
    if (weights[0] != weights[0, :1]).any():
        return "no broadcast"
    if (weights != weights[:, :1]).any():
        return "no all-reduce"
    return "other shuffles" if twice else "fine"
