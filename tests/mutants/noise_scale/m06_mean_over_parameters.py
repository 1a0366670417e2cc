# class: B3
# hint: mean-over-parameters


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return ((gradients - mean) ** 2).mean() / (mean @ mean)
