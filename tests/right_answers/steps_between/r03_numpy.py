import numpy as np


def steps_between(latency_s, seconds_per_byte, n_bytes, step_s, efficiency):
    message_s = latency_s + seconds_per_byte * n_bytes / 2
    least = 2 * message_s / step_s * efficiency / (1 - efficiency)
    return int(np.maximum(1, np.ceil(least - 1e-9 * least)))
