# class: B15
# hint: wait-for-inputs


from itertools import product


def place_nodes(inputs, us, n_workers, message_us):
    every = product(range(n_workers), repeat=len(us))

    def price(ranks):
        load = [sum(t for t, r in zip(us, ranks, strict=False) if r == w) for w in range(n_workers)]
        cut = sum(ranks[u] != ranks[k] for k, used in enumerate(inputs) for u in used)
        return max(load), cut

    return list(min(every, key=price))
