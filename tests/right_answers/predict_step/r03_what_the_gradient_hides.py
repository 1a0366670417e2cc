def predict_step(n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth_bytes_per_s):
    wire = n_bytes / bandwidth_bytes_per_s
    pushes = n_workers * (wire + latency_s)
    first_ready = gradient_s + wire + latency_s
    seconds = (
        pushes + update_s + (first_ready if first_ready > n_workers * wire else n_workers * wire)
    )
    return {"seconds": seconds, "efficiency": gradient_s / seconds}
