# class: C6
# hint: wait-for-inputs


from itertools import product


def place_nodes(inputs, us, n_workers, message_us):
    every = product(range(n_workers), repeat=len(us))

    def busiest(ranks):
        return max(
            sum(t for t, r in zip(us, ranks, strict=False) if r == w) for w in range(n_workers)
        )

    return list(min(every, key=busiest))
