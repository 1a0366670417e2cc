# class: A5
# hint: constant
def what_is_wrong(weights, rows):
    return "no broadcast"
