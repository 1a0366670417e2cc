# class: B15
# hint: all-layers
def predict_bucket(n_layers, layer_bytes, backward_s, n_workers, latency_s, bandwidth_bytes_per_s):
    times = {}
    for layers in range(1, n_layers + 1):
        n_buckets = -(-n_layers // layers)
        bytes_s = 2 * (n_workers - 1) / n_workers * n_layers * layer_bytes / bandwidth_bytes_per_s
        latencies_s = n_buckets * 2 * (n_workers - 1) * latency_s
        times[layers] = n_layers * backward_s + latencies_s + bytes_s
    best = min(times, key=times.get)
    return {"layers": best, "seconds": times[best]}
