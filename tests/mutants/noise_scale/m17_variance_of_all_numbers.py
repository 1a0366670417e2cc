# class: B3
# hint: variance-of-all


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return gradients.var() / (mean @ mean)
