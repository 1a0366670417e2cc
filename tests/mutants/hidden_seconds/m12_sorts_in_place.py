# class: B12
# hint: changes-input
import itertools


def hidden_seconds(computing, exchanging):
    exchanging.sort(key=lambda span: -span[1])
    edges = sorted({time for spans in (computing, exchanging) for span in spans for time in span})
    total = 0.0
    for start, end in itertools.pairwise(edges):
        middle = (start + end) / 2
        if all(any(a < middle < b for a, b in spans) for spans in (computing, exchanging)):
            total += end - start
    return total
