from fractions import Fraction
from math import ceil


def steps_between(latency_s, seconds_per_byte, n_bytes, step_s, efficiency):
    average = 2 * (latency_s + seconds_per_byte * (n_bytes / 2))
    waits = Fraction(average) / Fraction(step_s)
    part = Fraction(efficiency)
    return max(1, ceil(part * waits / (1 - part) - Fraction(1, 10**9)))
