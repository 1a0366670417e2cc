# class: C6
# hint: wait-for-inputs


def place_nodes(inputs, us, n_workers, message_us):
    load, ranks = [0] * n_workers, [0] * len(us)
    for node in sorted(range(len(us)), key=lambda node: -us[node]):
        ranks[node] = load.index(min(load))
        load[ranks[node]] += us[node]
    return ranks
