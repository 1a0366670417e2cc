# class: B4
# hint: one-missing
def predict_step(n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth_bytes_per_s):
    one = n_bytes / bandwidth_bytes_per_s
    computing = gradient_s + n_workers * (latency_s + one)
    nic = n_workers * (2 * one + latency_s)
    seconds = max(computing, nic) + update_s
    return {"seconds": seconds, "efficiency": gradient_s / seconds}
