import numpy as np


def predict_bound(workers, chunk, batch, flops_per_us, bytes_per_us):
    n = np.int64(workers * chunk)
    sent = 4 * (n - chunk) * 2
    flops = 6 * batch * n
    one = 6 * n * bytes_per_us
    return {
        "flops": int(flops),
        "sent_bytes": int(sent),
        "step_us": float(flops / flops_per_us + sent / bytes_per_us),
        "least_batch": int((sent * flops_per_us + one - 1) // one),
    }
