# class: B10
# hint: counted-twice
def hidden_seconds(computing, exchanging):
    hidden = 0.0
    for start, end in computing:
        for begins, ends in exchanging:
            hidden += max(0.0, min(end, ends) - max(start, begins))
    return hidden
