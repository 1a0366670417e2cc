# class: B4
# hint: one-by-one
def hidden_seconds(computing, exchanging):
    pairs = zip(computing, exchanging, strict=False)
    return sum((max(0.0, min(c[1], e[1]) - max(c[0], e[0])) for c, e in pairs), 0.0)
