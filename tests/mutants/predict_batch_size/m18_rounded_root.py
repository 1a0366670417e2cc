# class: B4
# hint: neighbour


def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    best = max(1, round((step_us * critical_size / example_us) ** 0.5))
    steps = fewest_steps * (1 + critical_size / best)
    return {"best_size": best, "steps": steps, "time_us": steps * (step_us + example_us * best)}
