# class: A1
# hint: spread-only


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return ((gradients - mean) ** 2).sum(axis=1).mean()
