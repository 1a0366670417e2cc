# class: C6
# hint: neighbour
import math


def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    best = math.ceil(math.sqrt(step_us * critical_size / example_us))
    steps = fewest_steps * (1 + critical_size / best)
    return {"best_size": best, "steps": steps, "time_us": steps * (step_us + example_us * best)}
