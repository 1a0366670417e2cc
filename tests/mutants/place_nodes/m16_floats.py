# class: C3
# hint: float


from itertools import product


def makespan(inputs, us, ranks, message_us):
    free, done = {}, []
    for node, before in enumerate(inputs):
        rank = ranks[node]
        there = [done[used] + message_us * (ranks[used] != rank) for used in before]
        done.append(max([free.get(rank, 0), *there]) + us[node])
        free[rank] = done[node]
    return max(done)


def place_nodes(inputs, us, n_workers, message_us):
    every = product(range(n_workers), repeat=len(us))
    best = min(every, key=lambda ranks: makespan(inputs, us, ranks, message_us))
    return [float(rank) for rank in best]
