# class: C8
# hint: prints-only
import numpy as np


def gradient_step(w, X, y, learning_rate):
    rows = np.column_stack([np.ones(len(y)), X])
    print(w - learning_rate * rows.T @ (rows @ w - y) / len(y))
