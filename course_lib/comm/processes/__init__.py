"""Real worker processes on this computer, talking through shared memory.

**Channels.** One block of shared memory holds, for each ordered pair of ranks, a ring of bytes: the
sender copies a message in, the receiver copies (or adds, with ``op``) it out, and both count what
they have done. A message of more than ``EAGER_BYTES`` streams through in steps of a quarter ring,
so that both ends work at once; a smaller one is put in whole, and ``send`` returns. Nothing is ever
pickled in a message. What one rank tells another (how far a counter has come) goes into the other's
*mailbox*, which a semaphore guards; a second semaphore, the *bell*, wakes the owner if it sleeps.
Two semaphores a rank are all there is: a rank reads what others wrote only after it has taken its
mailbox's lock, so the order of memory accesses is right on every kind of processor without a trick.
A rank whose small message finds its ring full asks the receiver to make room, and a receiver that
waits for somebody else then moves such messages into memory of its own: small messages are
never the reason for a deadlock.

**Progress.** All that a rank sends and receives goes through its *progress engine*. The
communicators of a rank (``world``, its groups, those of functions it has started) share the rings;
each message carries the number of its communicator. Functions that a rank has started run in
threads, its *flows*; one at a time moves messages, and of those that wait one sleeps on the bell. A
message of a communicator that nobody waits on, and that is in somebody's way, is set aside in
memory of our own (*unexpected*). A barrier, a split and the like are made of such messages too, on
a quiet channel of the communicator that is neither counted nor recorded. A rank that waits stays
awake for a tenth of a millisecond before it sleeps: a small message takes a few microseconds,
waking up takes many.

The files of ``memory``, from the bottom up: ``shared_memory`` (memory and semaphores), ``mailbox``,
``header``, ``unexpected`` and ``rings``, ``wait_board``, ``shared_arrays``, ``layout`` (how the
memory is divided), ``transfers`` (one message out, one in). Of ``rank``: ``flow`` and ``flows`` (in
any world of real processes), ``progress``, ``eager`` (the short way of small messages),
``started``, ``meetings``, ``rank_context`` (what its communicators share) and ``communicator`` (the
verbs); ``transport`` says in what such worlds differ (``torch_backend`` is another). ``returned``
tells who waits for a function that has returned.

**Life cycle.** The launcher packs the function with cloudpickle and starts one process a rank:
from a fork server on Linux, which has NumPy and this package loaded (and torch, if the notebook
has), by ``spawn`` elsewhere; never by ``fork``, which hangs once torch has computed. A worker never
imports the notebook or the script it comes from. It reports *attached*, *loaded*, and then *done*
or *failed*; when all have loaded, they start together, and that is the run's time 0. Only these
records count: a process that ends without *done* has not finished, whatever its exit code. The
first failure by time becomes the error. Then the others are asked where they are, ended (politely,
after half a second by force, with the processes they have started), and named in a line each.
The shared memory has no name on Linux, and for a moment elsewhere; names of semaphores are gone as
soon as all workers are attached, so a computer that dies in the middle keeps nothing.

The files of ``worker``: ``setup`` (what it is born with), ``worker_main``, ``worker`` (its life),
``control`` (what it and the launcher tell each other), ``guards``. Of ``launcher``:
``start_methods`` (how processes start), ``fork_server`` (that it answers), ``worker_handle`` (one
worker as the launcher sees it), ``starter`` (their births), ``supervisor`` (all of them),
``launcher``, ``pipes``, ``explain`` (the sentences), ``output`` (what workers print),
``interrupts``, ``ends`` (of the program).

**Watch.** A thread in every worker waits for questions of the launcher; when the line breaks, the
launcher is gone and the worker ends. It also answers where the main thread is. If compiled code
holds Python's lock, the fault handler answers in its place, and on Linux the kernel ends the worker
with its parent (``guards``).

What a rank waits for stands on a *wait board* in the shared memory, which the launcher reads ten
times a second; that costs the workers nothing. A rank that waits for one which has returned gets a
``PeerFinishedError`` at once. Ranks that wait for each other are found by asking who can go on:
those at work, then those that wait for them, and so on. If a circle is left over, and in three
looks none of its ranks has moved, the run ends with a ``DeadlockError`` that names the circle
(``deadlock``): after a quarter of a second, also while ranks outside of the circle are at work. A
process that the system has stopped cannot be told from a slow one by its messages, so once a second
the system is asked; after five seconds the run ends with ``WorkerStalled`` (``stalls``). The time
in which the launcher itself is stopped, or the computer asleep, counts for none of this, nor for
the time limit.

**What is left behind** is nothing, also of processes that workers start: those below a worker are
ended with it, and those whose worker has died are known by an environment variable, or are copies
of it and end by themselves (``process_tree``). The fork server and ``multiprocess``'s resource
tracker stay while the program does, with a folder for the server's socket (``fork_server_folder``,
``tidy``). Names that a program leaves which is killed with all its helpers are removed when the
next one starts.

**What is not covered.** On macOS and Windows a worker whose compiled code holds Python's lock
outlives a killed launcher until that code returns. On Windows the stack of a crash in compiled code
is lost. A rank that waits in vain for one that is busy for ever is ended at the time limit: there
is no circle. A program that a worker has started outlives the run if it is a child of nobody and
the worker returned well, if it has dropped its environment variables, or if the launcher is killed.
"""
