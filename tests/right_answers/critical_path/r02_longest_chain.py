def critical_path(forward_s, backward_s, exchange_s):
    """Some layer is the one after which the network is never idle again."""
    forward = sum(forward_s)
    chains = [
        forward + sum(backward_s[layer:]) + sum(exchange_s[: layer + 1])
        for layer in range(len(backward_s))
    ]
    after = forward + sum(backward_s) + sum(exchange_s)
    return {"after": after, "overlapped": max(chains)}
