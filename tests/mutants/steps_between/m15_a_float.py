# class: C3
# hint: float
import math


def steps_between(latency_s, seconds_per_byte, n_bytes, step_s, efficiency):
    average_s = 2 * latency_s + n_bytes * seconds_per_byte
    exact = efficiency / (1 - efficiency) * average_s / step_s
    return float(max(1, math.ceil(exact * (1 - 1e-12))))
