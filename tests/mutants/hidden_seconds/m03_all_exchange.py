# class: A1
# hint: all-exchange
def hidden_seconds(computing, exchanging):
    return sum((ends - begins for begins, ends in exchanging), 0.0)
