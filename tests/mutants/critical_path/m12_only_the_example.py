# class: A5
# hint: constant
def critical_path(forward_s, backward_s, exchange_s):
    return {"after": 0.018, "overlapped": 0.014}
