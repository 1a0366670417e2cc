# class: B15
# hint: never-idle
def critical_path(forward_s, backward_s, exchange_s):
    computing = sum(forward_s) + sum(backward_s)
    ready = done = sum(forward_s)
    for backward, exchange in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready += backward
        done = max(ready, done) + exchange
    return {
        "after": computing + sum(exchange_s),
        "overlapped": sum(forward_s) + backward_s[-1] + sum(exchange_s),
    }
