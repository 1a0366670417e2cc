import numpy as np


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    distances = np.linalg.norm(gradients - mean, axis=1)
    return float(np.mean(distances**2) / np.linalg.norm(mean) ** 2)
