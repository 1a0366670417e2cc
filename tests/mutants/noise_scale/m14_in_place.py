# class: B12
# hint: changes-input


def noise_scale(gradients):
    mean = gradients.mean(axis=0)
    gradients -= mean
    return (gradients**2).sum(axis=1).mean() / (mean @ mean)
