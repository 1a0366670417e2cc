# class: B3
# hint: not-centred


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    return (gradients**2).sum(axis=1).mean() / (mean @ mean)
