def predict_step(n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth_bytes_per_s):
    wire = n_bytes / bandwidth_bytes_per_s
    has_parameters = [k * wire + latency_s for k in range(1, n_workers + 1)]
    server_free = n_workers * wire
    for start in has_parameters:
        ready = start + gradient_s
        server_free = max(server_free, ready) + latency_s + wire
    end = server_free + update_s
    return {"seconds": end, "efficiency": gradient_s / end}
