def choose_scheme(ways, losses, n, example_us, networks, budget_us):
    chosen = []
    for latency, rate in networks:
        best = None
        for number, (scheme, workers, batch, every) in enumerate(ways):
            messages = {"serial": 0, "server": 2}.get(scheme, 2 * (workers - 1))
            vectors = 2 * (workers - 1) / (1 if scheme == "server" else workers)
            one_round = every * (batch // workers) * example_us
            one_round += messages * latency + vectors * 4 * n / rate
            clock, update = one_round, 0
            while clock <= budget_us:
                clock, update = clock + one_round, update + every
            loss = losses[number][update] if update < len(losses[number]) else losses[number][-1]
            if best is None or loss < best[0]:
                best = loss, number
        chosen.append(best[1])
    return chosen
