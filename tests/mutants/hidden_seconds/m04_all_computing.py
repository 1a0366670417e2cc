# class: A1
# hint: all-computing
def hidden_seconds(computing, exchanging):
    return sum((end - start for start, end in computing), 0.0)
