# class: B15
# hint: node-by-node


def end(inputs, us, ranks, message_us):
    free, done = {}, []
    for node, before in enumerate(inputs[: len(ranks)]):
        rank = ranks[node]
        there = [done[used] + message_us * (ranks[used] != rank) for used in before]
        done.append(max([free.get(rank, 0), *there]) + us[node])
        free[rank] = done[node]
    return done[-1]


def place_nodes(inputs, us, n_workers, message_us):
    ranks = []
    for _node in range(len(us)):
        tried = [[*ranks, rank] for rank in range(n_workers)]
        ends = [end(inputs, us, one, message_us) for one in tried]
        ranks = tried[ends.index(min(ends))]
    return ranks
