# class: B4
# hint: in-step
def losing_order(counts):
    order = []
    for number in range(max(counts)):
        cores = [core for core, n in enumerate(counts, 1) if number < n]
        order += cores + cores
    return order
