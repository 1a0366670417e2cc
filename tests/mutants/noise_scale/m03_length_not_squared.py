# class: B3
# hint: not-squared
import numpy as np


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return ((gradients - mean) ** 2).sum(axis=1).mean() / np.linalg.norm(mean)
