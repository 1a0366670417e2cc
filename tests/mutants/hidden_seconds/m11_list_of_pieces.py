# class: C2
# hint: one-number
def hidden_seconds(computing, exchanging):
    return [max(0.0, min(c[1], e[1]) - max(c[0], e[0])) for c in computing for e in exchanging]
