# class: B10
# hint: rows
def what_is_wrong(weights, rows):
    if (weights[0] != weights[0, 0]).any():
        return "no broadcast"
    return "no all-reduce" if (weights != weights[:, :1]).any() else "fine"
