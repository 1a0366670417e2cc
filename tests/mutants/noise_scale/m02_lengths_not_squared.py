# class: B3
# hint: not-squared
import numpy as np


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return np.linalg.norm(gradients - mean, axis=1).mean() / np.linalg.norm(mean)
