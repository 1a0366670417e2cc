# class: B5
# hint: far-enough
def steps_between(latency_s, seconds_per_byte, n_bytes, step_s, efficiency):
    average_s = 2 * latency_s + n_bytes * seconds_per_byte
    exact = efficiency / (1 - efficiency) * average_s / step_s
    return next((steps for steps in range(1, 10_000) if steps >= exact * (1 - 1e-12)), 10_000)
