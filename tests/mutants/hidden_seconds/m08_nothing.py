# class: A1
# hint: none
def hidden_seconds(computing, exchanging):
    return 0.0
