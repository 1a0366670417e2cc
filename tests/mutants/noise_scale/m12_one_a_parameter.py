# class: C2
# hint: one-number


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return gradients.var(axis=0) / mean**2
