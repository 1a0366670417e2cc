import math
from fractions import Fraction


def predict_bound(workers, chunk, batch, flops_per_us, bytes_per_us):
    per_example = Fraction(6 * workers * chunk, flops_per_us)
    exchange = Fraction(8 * (workers - 1) * chunk, bytes_per_us)
    return {
        "flops": 6 * batch * workers * chunk,
        "sent_bytes": 8 * (workers - 1) * chunk,
        "step_us": float(batch * per_example + exchange),
        "least_batch": math.ceil(exchange / per_example),
    }
