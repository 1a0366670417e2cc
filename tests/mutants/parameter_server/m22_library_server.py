# class: A3
# hint: library-answer
def parameter_server(comm, w, gradient, learning_rate, steps):
    from course_lib.collectives import allreduce_ring, broadcast_tree

    w = broadcast_tree(comm, w)
    for _ in range(steps):
        total = allreduce_ring(comm, w * 0 if comm.rank == 0 else gradient(w))
        w = w - learning_rate * total
    return w
