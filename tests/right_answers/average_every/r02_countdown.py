from course_lib.collectives import allreduce_butterfly


def average_every(comm, model, w, X_local, y_local, learning_rate, every):
    w, left = w.copy(), every
    for row in range(len(y_local)):
        w -= learning_rate * model.gradient(w, (X_local[[row]], y_local[[row]]))[1]
        left -= 1
        if left == 0 or row == len(y_local) - 1:
            allreduce_butterfly(comm, w / comm.size, out=w)
            left = every
    return w
