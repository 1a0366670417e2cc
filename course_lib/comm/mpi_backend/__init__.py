"""Ranks that ``mpiexec`` has started, and that talk by MPI; mpi4py is needed here alone.

**Messages** are those of ``torch_backend``: the same packets, in the same order, with the same
tensors. ``wires`` moves them by ``Isend`` and ``Improbe`` on a communicator of our own, so that
they never mix with what a program sends on ``MPI.COMM_WORLD``. MPI's blocking calls keep a core
busy while they wait; here nothing blocks: a rank looks again and again, and sleeps in between.

**Life** is that under torchrun: each rank is a program that calls ``run``, rank 0 gets the whole
result, the ranks tell each other how they have failed, and a witness tells what a rank cannot. What
is different: MPI is left by all ranks together, or not at all. So a program that ends with an
exception, or after a run that has failed, waits for the others for seconds, then has MPI end all
(``ending``). And if a rank is killed, MPICH's mpiexec ends all others at once, before they could
tell of it, and says by which signal that one ended.

Tested with MPICH on one machine. Several machines, other MPIs and GPUs: untested.
"""
