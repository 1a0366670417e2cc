# class: B18
# hint: misplaced-bracket


def critical_path(forward_s, backward_s, exchange_s):
    ready = done = sum(forward_s)
    for backward, exchange in zip(backward_s[::-1], exchange_s[::-1], strict=True):
        ready += backward
        done = max(ready, done + exchange)
    return {"after": ready + sum(exchange_s), "overlapped": done}
