# class: C6
# hint: later
import numpy as np


def diagnose_curve(losses, alone):
    if (losses[-1] != losses[-1, 0]).any():
        return "no broadcast"
    return "fine" if np.allclose(losses[:, 0], alone, rtol=1e-9) else "sum for mean"
