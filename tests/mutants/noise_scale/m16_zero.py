# class: A1
# hint: wrong-value


def noise_scale(gradients):
    return 0.0
