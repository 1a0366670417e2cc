def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    """Of all numbers with the same largest share the smallest is the fastest."""
    times = {}
    for share in range(1, batch + 1):
        n = -(-batch // share)
        ring = 2 * (n - 1) * (latency_s + n_bytes / (n * bandwidth_bytes_per_s))
        times[n] = -(-batch // n) * example_s + ring
    best = min(sorted(times), key=times.get)
    return {"workers": best, "seconds": times[best]}
