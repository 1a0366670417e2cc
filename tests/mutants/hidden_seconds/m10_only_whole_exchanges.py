# class: C6
# hint: draw-lanes
def hidden_seconds(computing, exchanging):
    first, last = (computing[0][0], computing[-1][1]) if computing else (0.0, 0.0)
    return sum((e - b for b, e in exchanging if first <= b and e <= last), 0.0)
