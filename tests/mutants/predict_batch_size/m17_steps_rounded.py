# class: C3
# hint: rounded


def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    best = min(
        range(1, 5000),
        key=lambda b: (1 + critical_size / b) * (step_us + example_us * b),
    )
    steps = fewest_steps * (1 + critical_size / best)
    return {
        "best_size": best,
        "steps": float(round(steps)),
        "time_us": steps * (step_us + example_us * best),
    }
