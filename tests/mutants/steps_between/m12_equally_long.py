# class: B3
# hint: part-of-all
import math


def steps_between(latency_s, seconds_per_byte, n_bytes, step_s, efficiency):
    average_s = 2 * latency_s + n_bytes * seconds_per_byte
    exact = average_s / step_s
    return max(1, math.ceil(exact * (1 - 1e-12)))
