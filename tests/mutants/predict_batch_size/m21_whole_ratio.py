# class: C3
# hint: whole-division


def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    def steps(size):
        return fewest_steps * (1 + critical_size // size)

    best = min(range(1, 3000), key=lambda size: steps(size) * (step_us + example_us * size))
    time_us = steps(best) * (step_us + example_us * best)
    return {"best_size": best, "steps": steps(best), "time_us": time_us}
