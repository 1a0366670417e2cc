# class: B5
# hint: one-worker
def predict_step(n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth_bytes_per_s):
    on_nic_s = n_bytes / bandwidth_bytes_per_s
    seconds = gradient_s + 2 * (latency_s + on_nic_s) + update_s
    return {"seconds": seconds, "efficiency": gradient_s / seconds}
