# class: B5
# hint: as-long


def predict_bound(workers, chunk, batch, flops_per_us, bytes_per_us):
    n = workers * chunk
    sent_bytes = 2 * (workers - 1) * 4 * chunk
    flops = 6 * batch * n
    return {
        "flops": flops,
        "sent_bytes": sent_bytes,
        "step_us": flops / flops_per_us + sent_bytes / bytes_per_us,
        "least_batch": sent_bytes * flops_per_us // (6 * n * bytes_per_us) + 1,
    }
