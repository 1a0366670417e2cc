# class: B15
# hint: single-moves
def place_nodes(inputs, us, n_workers, message_us):
    def ends_us(ranks):
        free, done = [0] * n_workers, []
        for node, rank in enumerate(ranks):
            there = [done[used] + message_us * (ranks[used] != rank) for used in inputs[node]]
            free[rank] = max([free[rank], *there]) + us[node]
            done.append(free[rank])
        return done

    blocks = [
        [first] * size + [second] * (len(us) - size)
        for first in range(n_workers)
        for second in range(n_workers)
        for size in range(len(us) + 1)
    ]
    ranks = min(blocks, key=lambda ranks: max(ends_us(ranks)))
    while True:
        moves = [
            [*ranks[:node], rank, *ranks[node + 1 :]]
            for node in range(len(us))
            for rank in range(n_workers)
        ]
        best = min(moves, key=lambda moved: max(ends_us(moved)))
        if max(ends_us(best)) >= max(ends_us(ranks)):
            return ranks
        ranks = best
