def place_nodes(inputs, us, n_workers, message_us):
    best = [sum(us) + 1, None]

    def go(ranks, done, free):
        if max(done, default=0) >= best[0]:
            return
        node = len(ranks)
        if node == len(us):
            best[:] = [max(done), ranks]
            return
        for rank in range(n_workers):
            begins = free[rank]
            for used in inputs[node]:
                begins = max(begins, done[used] + (ranks[used] != rank) * message_us)
            end = begins + us[node]
            go([*ranks, rank], [*done, end], [*free[:rank], end, *free[rank + 1 :]])

    go([], [], [0] * n_workers)
    return best[1]
