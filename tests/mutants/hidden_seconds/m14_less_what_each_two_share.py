# class: B10
# hint: draw-lanes
from itertools import combinations


def hidden_seconds(computing, exchanging):
    def common(spans):
        return [max(0.0, min(end, b) - max(start, a)) for start, end in computing for a, b in spans]

    twice = [(max(a, c), min(b, d)) for (a, b), (c, d) in combinations(exchanging, 2)]
    return float(sum(common(exchanging)) - sum(common(twice)))
