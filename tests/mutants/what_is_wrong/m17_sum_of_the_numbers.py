# class: C6
# hint: rows
def what_is_wrong(weights, rows):
    differs = (weights != weights[:, :1]).any(axis=(1, 2))
    if differs.any():
        return "no broadcast" if differs[0] else "no all-reduce"
    return "fine" if rows.sum() == rows.size * (rows.size - 1) // 2 else "other shuffles"
