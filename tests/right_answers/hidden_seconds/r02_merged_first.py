def merged(spans):
    result = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def hidden_seconds(computing, exchanging):
    return sum(
        (max(0.0, min(c[1], e[1]) - max(c[0], e[0]))
         for c in merged(computing) for e in merged(exchanging)),
        0.0,
    )  # fmt: skip
