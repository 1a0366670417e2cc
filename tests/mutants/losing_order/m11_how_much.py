# class: C2
# hint: constant
def losing_order(counts):
    return 2
