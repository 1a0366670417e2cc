from fractions import Fraction


def predict_batch_size(step_us, example_us, fewest_steps, critical_size):
    def time_us(size):
        return fewest_steps * (1 + Fraction(critical_size, size)) * (step_us + example_us * size)

    best = min(range(1, 5000), key=time_us)
    steps = fewest_steps * (1 + Fraction(critical_size, best))
    return {"best_size": best, "steps": steps, "time_us": time_us(best)}
