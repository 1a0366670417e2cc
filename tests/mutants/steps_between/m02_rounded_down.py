# class: B4
# hint: round-up


def steps_between(latency_s, seconds_per_byte, n_bytes, step_s, efficiency):
    average_s = 2 * latency_s + n_bytes * seconds_per_byte
    exact = efficiency / (1 - efficiency) * average_s / step_s
    return max(1, int(exact))
