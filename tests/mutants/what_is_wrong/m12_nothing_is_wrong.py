# class: A1
# hint: some-rank-differs
def what_is_wrong(weights, rows):
    return "fine"
