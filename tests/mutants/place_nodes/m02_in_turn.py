# class: A1
# hint: better-there-is


def place_nodes(inputs, us, n_workers, message_us):
    return [node % n_workers for node in range(len(us))]
