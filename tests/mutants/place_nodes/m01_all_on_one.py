# class: A1
# hint: one-worker


def place_nodes(inputs, us, n_workers, message_us):
    return [0] * len(us)
