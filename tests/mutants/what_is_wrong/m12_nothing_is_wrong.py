# class: A1
# hint: constant
def what_is_wrong(weights, rows):
    return "fine"
