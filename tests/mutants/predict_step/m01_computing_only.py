# class: B15
# hint: one-chain
def predict_step(n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth_bytes_per_s):
    on_nic_s = n_bytes / bandwidth_bytes_per_s
    computing_s = gradient_s + (n_workers + 1) * (latency_s + on_nic_s)
    seconds = computing_s + update_s
    return {"seconds": seconds, "efficiency": gradient_s / seconds}
