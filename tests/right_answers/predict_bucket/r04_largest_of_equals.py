def predict_bucket(n_layers, layer_bytes, backward_s, n_workers, latency_s, bandwidth_bytes_per_s):
    def end(size):
        ready = done = 0.0
        left = n_layers
        while left > 0:
            k = min(size, left)
            left -= k
            ready += k * backward_s
            chunk_s = k * layer_bytes / n_workers / bandwidth_bytes_per_s
            done = max(ready, done) + 2 * (n_workers - 1) * (latency_s + chunk_s)
        return done

    least = min(map(end, range(1, n_layers + 1)))
    best = max(k for k in range(1, n_layers + 1) if end(k) <= least * (1 + 1e-12))
    return {"layers": best, "seconds": end(best)}
