def finish(ready, done, rest):
    if not rest:
        return done
    backward, exchange = rest[-1]
    ready = ready + backward
    return finish(ready, max(ready, done) + exchange, rest[:-1])


def critical_path(forward_s, backward_s, exchange_s):
    start = sum(forward_s)
    layers = list(zip(backward_s, exchange_s, strict=True))
    total = start + sum(backward + exchange for backward, exchange in layers)
    return {"after": total, "overlapped": finish(start, start, layers)}
