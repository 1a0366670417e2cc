from fractions import Fraction


def choose_scheme(ways, losses, n, example_us, networks, budget_us):
    def loss(way, curve, latency, rate):
        scheme, workers, batch, every = way
        vector = Fraction(4 * n, rate)
        if scheme == "serial":
            exchange = 0
        elif scheme == "server":
            exchange = 2 * (latency + (workers - 1) * vector)
        else:
            exchange = 2 * (workers - 1) * (latency + vector / workers)
        rounds = budget_us // (Fraction(every * batch * example_us, workers) + exchange)
        return [*curve, *[curve[-1]] * (rounds * every)][rounds * every]

    def best(network):
        reached = [loss(way, curve, *network) for way, curve in zip(ways, losses, strict=True)]
        return sorted(range(len(ways)), key=reached.__getitem__)[0]

    return [best(network) for network in networks]
