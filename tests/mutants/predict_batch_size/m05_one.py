# class: A1
# hint: one


def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    best = 1
    steps = fewest_steps * (1 + critical_size / best)
    return {"best_size": best, "steps": steps, "time_us": steps * (step_us + example_us * best)}
