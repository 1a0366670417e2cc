# class: C2
# hint: not-a-dict


def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    best = min(
        range(1, 5000),
        key=lambda b: (1 + critical_size / b) * (step_us + example_us * b),
    )
    return best
