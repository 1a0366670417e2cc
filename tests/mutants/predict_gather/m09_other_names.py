# class: C2
# hint: wrong-names


def predict_gather(n_workers, n_numbers):
    others = n_workers - 1
    return {"messages": 2 * others, "bytes": 16 * others * n_numbers}
