# class: A1
# hint: constant
def hidden_seconds(computing, exchanging):
    return 0.0
