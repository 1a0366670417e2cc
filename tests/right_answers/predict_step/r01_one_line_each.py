def predict_step(n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth_bytes_per_s):
    beta = n_bytes / bandwidth_bytes_per_s
    chains = [
        gradient_s + (n_workers + 1) * latency_s + (n_workers + 1) * beta,
        n_workers * (2 * beta + latency_s),
    ]
    return {
        "efficiency": gradient_s / (max(chains) + update_s),
        "seconds": max(chains) + update_s,
    }
