def counter_after(order):
    counter, loaded, turns = 0, {}, {}
    for core in order:
        turn = turns.get(core, 0)
        if turn % 2 == 0:
            loaded[core] = counter
        else:
            counter = loaded[core] + 1
        turns[core] = turn + 1
    return counter
