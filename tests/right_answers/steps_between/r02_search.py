def steps_between(latency_s, seconds_per_byte, n_bytes, step_s, efficiency):
    average_s = 2 * latency_s + n_bytes * seconds_per_byte

    def is_enough(steps):
        return steps * step_s >= efficiency * (steps * step_s + average_s) * (1 - 1e-12)

    high = 1
    while not is_enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
