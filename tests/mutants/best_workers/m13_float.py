# class: C3
# hint: float
def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    def seconds(n):
        ring = 2 * (n - 1) * (latency_s + n_bytes / n / bandwidth_bytes_per_s)
        return -(-batch // n) * example_s + ring

    best = min(range(1, batch + 1), key=seconds)
    return {"workers": float(best), "seconds": seconds(best)}
