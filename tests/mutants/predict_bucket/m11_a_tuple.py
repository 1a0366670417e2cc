# class: C2
# hint: not-a-dict
import math


def predict_bucket(n_layers, layer_bytes, backward_s, n_workers, latency_s, bandwidth_bytes_per_s):
    times = {}
    for layers in range(1, n_layers + 1):
        ready = done = 0.0
        for start in range(0, n_layers, layers):
            n = min(layers, n_layers - start)
            ring_s = (
                2
                * (n_workers - 1)
                * (latency_s + n * layer_bytes / n_workers / bandwidth_bytes_per_s)
            )
            ready += n * backward_s
            done = max(ready, done) + ring_s
        times[layers] = done
    best = next(k for k, t in times.items() if math.isclose(t, min(times.values())))
    return (best, times[best])
