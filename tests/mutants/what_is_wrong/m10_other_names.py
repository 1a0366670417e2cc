# class: C9
# hint: wrong-name
def what_is_wrong(weights, rows):
    if (weights[0] != weights[0, 0]).any():
        return "broadcast"
    return "all-reduce" if (weights != weights[:, :1]).any() else "ok"
