# class: C9
# hint: wrong-name
import numpy as np


def diagnose_curve(losses, alone):
    return "ok" if np.allclose(losses[:, 0], alone) else "broken"
