# class: B5
# hint: on-the-way


def choose_scheme(ways, losses, n, example_us, networks, budget_us):
    chosen = []
    for alpha, beta in networks:
        reached = []
        for k, (scheme, workers, batch, every) in enumerate(ways):
            exchange = {
                "serial": 0,
                "server": 2 * alpha + 2 * (workers - 1) * 4 * n / beta,
            }.get(scheme, 2 * (workers - 1) * (alpha + 4 * n / workers / beta))
            round_us = every * (batch // workers) * example_us + exchange
            updates = int(budget_us / round_us) * every
            reached.append(min(losses[k][: updates + 1]))
        chosen.append(reached.index(min(reached)))
    return chosen
