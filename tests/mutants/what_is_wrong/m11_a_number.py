# class: C3
# hint: wrong-name
def what_is_wrong(weights, rows):
    return int((weights != weights[:, :1]).any(axis=(1, 2)).sum())
