# class: B15
# hint: looks-at-bytes-only
def split_fault(ranks, sent, budget, split, whole, bias):
    return "too many bytes" if sent > budget else "right"
