# class: B15
# hint: cheapest
def best_workers(batch, example_s, n_bytes, latency_s, bandwidth_bytes_per_s):
    def seconds(n):
        return batch * example_s + 2 * (n - 1) * (latency_s + n_bytes / n / bandwidth_bytes_per_s)

    best = min(range(1, batch + 1), key=seconds)
    return {"workers": best, "seconds": seconds(best)}
