def critical_path(forward_s, backward_s, exchange_s):
    n = len(forward_s)
    clock = 0.0
    for layer in range(n):
        clock += forward_s[layer]
    network_free = 0.0
    for layer in range(n - 1, -1, -1):
        clock += backward_s[layer]
        network_free = max(network_free, clock) + exchange_s[layer]
    return {"overlapped": network_free, "after": clock + sum(exchange_s)}
