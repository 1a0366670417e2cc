# class: B3
# hint: first-step
import numpy as np


def diagnose_curve(losses, alone):
    if (losses[0] != losses[0, 0]).any():
        return "no broadcast"
    if (losses != losses[:, :1]).any():
        return "no all-reduce"
    if np.allclose(losses[:, 0], alone, rtol=1e-9, atol=0):
        return "fine"
    return "sum for mean" if losses[1, 0] < alone[1] else "divided twice"
