# class: B15
# hint: both-ways


def choose_scheme(ways, losses, n, example_us, networks, budget_us):
    def round_us(scheme, workers, batch, every, latency_us, bytes_per_us):
        compute = every * (batch // workers) * example_us
        vector_us = 4 * n / bytes_per_us
        if scheme == "serial":
            return compute
        if scheme == "server":
            return compute + latency_us + (workers - 1) * vector_us
        return compute + 2 * (workers - 1) * (latency_us + vector_us / workers)

    def updates_of(k, network):
        return int(budget_us / round_us(*ways[k], *network)) * ways[k][3]

    def reached(k, network):
        return losses[k][min(updates_of(k, network), len(losses[k]) - 1)]

    return [min(range(len(ways)), key=lambda k: reached(k, at)) for at in networks]
