# class: C2
# hint: wrong-form
def losing_order(counts):
    return ["load", "store"] * sum(counts)
