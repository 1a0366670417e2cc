# class: B5
# hint: one-chain


def predict_step(n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth_bytes_per_s):
    on_nic_s = n_bytes / bandwidth_bytes_per_s
    computing_s = gradient_s + (n_workers + 1) * (latency_s + on_nic_s)
    nic_s = 2 * n_workers * on_nic_s + n_workers * latency_s
    seconds = (nic_s if n_workers > 8 else computing_s) + update_s
    return {"seconds": seconds, "efficiency": gradient_s / seconds}
