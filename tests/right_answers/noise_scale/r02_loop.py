def noise_scale(gradients):
    mean = sum(gradients) / len(gradients)
    squared = sum(float((g - mean) @ (g - mean)) for g in gradients) / len(gradients)
    return squared / float(mean @ mean)
