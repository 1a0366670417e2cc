# class: C6
# hint: below-zero
def hidden_seconds(computing, exchanging):
    hidden = 0.0
    for start, end in computing:
        for begins, ends in exchanging:
            hidden += min(end, ends) - max(start, begins)
    return hidden
