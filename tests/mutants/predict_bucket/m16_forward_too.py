# class: B18
# hint: forward-too


def predict_bucket(n_layers, layer_bytes, backward_s, n_workers, latency_s, bandwidth_bytes_per_s):
    def seconds(layers):
        ready = done = 0.0
        for n in [layers] * (n_layers // layers) + [n_layers % layers] * (n_layers % layers > 0):
            ring_s = latency_s + n * layer_bytes / n_workers / bandwidth_bytes_per_s
            ready += n * backward_s
            done = max(ready, done) + 2 * (n_workers - 1) * ring_s
        return done

    best = min(range(1, n_layers + 1), key=seconds)
    return {"layers": best, "seconds": seconds(best) + n_layers * backward_s / 2}
