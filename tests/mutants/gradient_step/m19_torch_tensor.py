# class: C2
# hint: torch-tensor
import torch


def gradient_step(w, X, y, learning_rate):
    w, X, y = (torch.from_numpy(array) for array in (w, X, y))
    error = w[0] + X @ w[1:] - y
    return w - learning_rate * torch.cat([error.mean()[None], X.T @ error / len(y)])
