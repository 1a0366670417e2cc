"""Thousands of workers on one thread, in virtual time: exact, deterministic, explained.

The same blocking functions that run on real processes run here, each on a *greenlet*: a function
call that can be put to sleep in the middle and woken up later. One thread runs all of them, one at
a time. Such a *flow* is a rank's function, or what it has started beside itself; every flow has a
clock of its own. Arithmetic costs no time unless it is priced with ``comm.compute(label,
flops=...)``; messages cost what the network model says.

**The loop.** Among the flows that can go on, the one with the smallest (clock, rank, number) runs
next, and it keeps running until its clock passes somebody else's. The flows that can go on lie in a
heap. A flow whose clock has moved on puts itself back there and switches straight to the smallest
one; a flow that waits for another is in no heap: whoever completes its message puts it back. So
everything happens in the order of virtual time, and the same seed gives the same trace to the byte.

**The network.** Every rank has one NIC, and a NIC sends and receives at the same time (full
duplex). A message of n bytes that starts at time s keeps the sender's NIC busy in
``[s, s + n*beta]`` and the receiver's NIC for ``n*beta`` from ``s + alpha``, or from the moment
the receiver's NIC is free, if that is later (cut through: the head arrives while the tail is still
being sent). ``send`` returns when its own NIC is free; the message has arrived when the receiver's
NIC is done. Up to ``EAGER_BYTES`` a message starts when it is sent; a larger one, or any one with
``rendezvous=True``, when its receive is posted as well. A barrier, a split and a shared array cost
nothing: all leave when the last one enters. For an algorithm that goes in rounds this gives
``T = rounds*alpha + beta * (sum over rounds of the bytes on the busiest NIC)``.

**Links.** On a ring, on a torus, or between hosts that share uplinks, a message occupies every link
on its way, the NICs included, each for ``n*beta`` of that link, cut through: alone it takes the sum
of the latencies plus n times the largest beta, and where messages share a link they queue. What
waits in the middle waits there: ``send`` returns when the sender's own NIC is free, however slow
the rest.
A slow NIC or a slow link is one with other numbers. ``routes`` has this; a plain star without
faults does without it, and gives the same times to the last bit.

**Faults.** A schedule says which ranks crash and perhaps come back, which messages are lost,
doubled or held up, which links are slow and who is cut off from whom, and when. ``faults`` says
what each does and what is lost with a rank. The same schedule gives the same run.

**Beside each other.** ``comm.start`` makes a flow whose clock begins at its starter's; ``wait``
moves the waiter's clock to the later of both. A computer is thought to have a core for each flow,
so that arithmetic in two of them overlaps, but one NIC: what is ready to leave while another
message is leaving queues, first in, first out, and reaches the receiver's NIC only once it leaves.

**When nobody can go on**, the heap is empty while flows still wait. Then the circle of who waits
for whom is the explanation, with the line of each rank's function, read from its sleeping frame.

**What is shared.** Each rank loads its own copy of the function and its arguments, and messages are
copied when they are sent. But there is one interpreter: modules, and so their globals, are the same
for all ranks, which real processes keep apart. A rank is also not interrupted between two verbs: to
end a function that loops for ever, a watchdog raises an exception in the thread when the wall time
is over, or when there have been more events than memory has room for (``watchdog``). Ctrl-C is one
more such exception, raised nowhere but in the ranks' code (``comm.interrupts``). Code that never
comes back from C, or that swallows every exception, cannot be ended. For the same reason a rank
that crashes runs its ``finally`` blocks, in which it can do nothing to the others.

**Chance, and none.** A network may have random service times (``service``): then each computation
takes its time times a factor that its rank draws, the same for the same seed. Or it has a schedule
of them, and so an order of events; that of another run plays it again.

Read ``networks``, then ``flow`` (a clock and a greenlet) and ``event_loop``, then
``communicator`` (the verbs) with ``nics`` and ``groups``, then ``explain``; then, for networks
that are no star, ``topologies`` and ``routes``, and for faults ``faults`` and ``fault_injector``.
"""
