def order_1f1b(rank, ranks, microbatches):
    def rest(forward, back):
        if back == microbatches:
            return []
        if forward == microbatches or forward - back == ranks - rank:
            return [f"B{back}", *rest(forward, back + 1)]
        return [f"F{forward}", *rest(forward + 1, back)]

    return rest(0, 0)
