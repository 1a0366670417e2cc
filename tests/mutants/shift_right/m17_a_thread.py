# class: A11
# hint: thread
import threading


def shift_right(comm, x):
    if comm.size == 1:
        return x.copy()
    right = (comm.rank + 1) % comm.size
    sending = threading.Thread(target=comm.send, args=(x, right))
    sending.start()
    arrived = comm.recv((comm.rank - 1) % comm.size)
    sending.join()
    return arrived
