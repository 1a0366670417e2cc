# class: C2
# hint: not-a-dict


def predict_gather(n_workers, n_numbers):
    others = n_workers - 1
    return 2 * others, 16 * others * n_numbers, 8 * others * n_numbers
