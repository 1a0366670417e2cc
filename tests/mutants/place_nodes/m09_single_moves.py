# class: B15
# hint: single-moves


def makespan(inputs, us, ranks, message_us):
    free, done = {}, []
    for node, before in enumerate(inputs):
        rank = ranks[node]
        there = [done[used] + message_us * (ranks[used] != rank) for used in before]
        done.append(max([free.get(rank, 0), *there]) + us[node])
        free[rank] = done[node]
    return max(done)


def place_nodes(inputs, us, n_workers, message_us):
    ranks = [0] * len(us)
    improved = True
    while improved:
        improved = False
        for node in range(len(us)):
            for rank in range(n_workers):
                moved = [*ranks[:node], rank, *ranks[node + 1 :]]
                before = makespan(inputs, us, ranks, message_us)
                if makespan(inputs, us, moved, message_us) < before:
                    ranks, improved = moved, True
    return ranks
