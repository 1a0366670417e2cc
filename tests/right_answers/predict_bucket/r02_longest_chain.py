def predict_bucket(n_layers, layer_bytes, backward_s, n_workers, latency_s, bandwidth_bytes_per_s):
    """After some bucket the network is never idle again."""
    best, least = 0, float("inf")
    for layers in range(1, n_layers + 1):
        cuts = [*range(0, n_layers, layers), n_layers]
        latency = 2 * (n_workers - 1) * latency_s
        a_layer_s = 2 * (n_workers - 1) / n_workers * layer_bytes / bandwidth_bytes_per_s
        time_s = max(
            cuts[k + 1] * backward_s + (len(cuts) - 1 - k) * latency
            + (n_layers - cuts[k]) * a_layer_s
            for k in range(len(cuts) - 1)
        )  # fmt: skip
        if time_s < least * (1 - 1e-12):
            best, least = layers, time_s
    return {"layers": best, "seconds": least}
