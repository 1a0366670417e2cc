# class: C6
# hint: one-number-only
def split_fault(ranks, sent, budget, split, whole, bias):
    extra, b = (split - whole)[0, 0], bias[0]
    if abs(extra) < 1e-9:
        return "too many bytes" if sent > budget else "right"
    if abs(extra - (ranks - 1) * b) < 1e-9:
        return "bias of every rank"
    return "no bias" if abs(extra + b) < 1e-9 else "other values"
