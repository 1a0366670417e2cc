import numpy as np


def finish(sizes, backward_s, ring):
    ready = np.cumsum(sizes) * backward_s
    done = 0.0
    for size, at in zip(sizes, ready, strict=True):
        done = max(done, at) + ring(size)
    return done


def predict_bucket(n_layers, layer_bytes, backward_s, n_workers, latency_s, bandwidth_bytes_per_s):
    def ring(layers):
        n_bytes = layers * layer_bytes
        return 2 * (n_workers - 1) * (latency_s + n_bytes / n_workers / bandwidth_bytes_per_s)

    times = []
    for layers in range(1, n_layers + 1):
        sizes = [layers] * (n_layers // layers)
        if n_layers % layers:
            sizes.append(n_layers % layers)
        times.append(finish(sizes, backward_s, ring))
    best = int(np.argmin(np.round(times, 15)))
    return {"layers": best + 1, "seconds": times[best]}
