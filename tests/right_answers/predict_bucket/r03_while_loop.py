def predict_bucket(n_layers, layer_bytes, backward_s, n_workers, latency_s, bandwidth_bytes_per_s):
    results = []
    for layers in range(1, n_layers + 1):
        left, ready, network = n_layers, 0.0, 0.0
        while left > 0:
            n = layers if layers < left else left
            left -= n
            ready = ready + backward_s * n
            network = network if network > ready else ready
            for _ in range(2 * (n_workers - 1)):
                network += latency_s + n * layer_bytes / n_workers / bandwidth_bytes_per_s
        results.append((round(network, 12), layers, network))
    _, layers, seconds = min(results)
    return {"layers": layers, "seconds": seconds}
