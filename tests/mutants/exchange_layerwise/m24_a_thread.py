# class: A11
# hint: thread
from threading import Thread


def exchange_layerwise(comm, backward, allreduce):
    sums, threads = {}, []
    for layer, gradient in backward(comm):

        def exchange(layer=layer, gradient=gradient):
            sums[layer] = allreduce(comm, gradient)

        threads.append(Thread(target=exchange))
        threads[-1].start()
        threads[-1].join()
    return [sums[layer] for layer in sorted(sums)]
