def counter_after(order):
    memory = [0]

    def core():
        while True:
            loaded = memory[0]
            yield
            memory[0] = loaded + 1
            yield

    cores = {number: core() for number in set(order)}
    for number in order:
        next(cores[number])
    return memory[0]
