"""The formula as it stands, with whatever floats make of it."""

import math


def steps_between(latency_s, seconds_per_byte, n_bytes, step_s, efficiency):
    average_s = 2 * latency_s + n_bytes * seconds_per_byte
    return max(1, math.ceil(efficiency * average_s / ((1 - efficiency) * step_s)))
