# class: B15
# hint: backward-left-out
def critical_path(forward_s, backward_s, exchange_s):

    ready = done = sum(forward_s)
    for backward, exchange in zip(reversed(backward_s), reversed(exchange_s), strict=True):
        ready += backward
        done = max(ready, done) + exchange
    return {"after": sum(forward_s) + sum(exchange_s), "overlapped": done}
