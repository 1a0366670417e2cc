# class: B3
# hint: exposed
from itertools import pairwise


def hidden_seconds(computing, exchanging):
    times = sorted({time for span in [*computing, *exchanging] for time in span})
    hidden = 0.0
    for a, b in pairwise(times):
        busy = any(start <= a and b <= end for start, end in computing)
        sent = any(start <= a and b <= end for start, end in exchanging)
        hidden += (b - a) * (busy and sent)
    return sum(end - start for start, end in exchanging) - hidden
