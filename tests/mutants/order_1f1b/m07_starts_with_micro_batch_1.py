# class: B7
# hint: unknown-action
def order_1f1b(rank, ranks, microbatches):
    order, forward = [], 0
    for m in range(min(ranks - 1 - rank, microbatches)):
        order.append(f"F{m}")
        forward = m
    for m in range(microbatches - len(order)):
        forward += 1
        order += [f"F{forward}", f"B{m}"]
    done = sum(action[0] == "B" for action in order)
    return order + [f"B{m}" for m in range(done, microbatches)]
