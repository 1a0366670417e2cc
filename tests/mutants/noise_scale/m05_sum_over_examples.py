# class: B3
# hint: sum-over-examples


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return ((gradients - mean) ** 2).sum() / (mean @ mean)
