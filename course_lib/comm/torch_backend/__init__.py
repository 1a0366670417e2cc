"""Real worker processes that talk through ``torch.distributed``, on one computer or on several.

**Groups.** Two gloo groups: the default one is the learner's, for torch's own collectives and
``DistributedDataParallel``; another is for our messages, so that the two never mix (``groups``).

**Messages.** Every rank has a thread that takes each packet that comes, whatever the rank's
functions do. A message of up to ``EAGER_BYTES`` is one packet: what it says about itself (dtype,
shape, tag: gloo would abort the process where they do not match), then its bytes. A larger one is
announced by a packet; when its receive is posted, the receiver asks for it, and the listening
thread of the sender sends it. So ``recv_any``, order, tags and ``rendezvous`` are those of every
world, and no small message ever waits for a receive. (``packets``, ``transfers``, ``progress``)

**Tensors.** What NumPy knows travels as NumPy; bfloat16 as pairs of bytes; a tensor on a GPU by
NCCL where each rank has a GPU of its own, else through memory. It arrives on the receiver's GPU, or
in the device of ``out`` (``arrays``). Ranks that share a GPU are tested, several GPUs are not.

**One computer.** Launcher, life cycle, deadlock watch and shared arrays are those of ``processes``;
the ranks find each other by a file in a new private folder and talk over the loopback network
alone (``transport``). A process that has returned ends: whoever waits for it in a collective of the
default group hears it at once. An exception that only tells of a broken connection leaves the rank
that broke it half a second to be heard first. Collectives of the default group have a time limit of
20 seconds.

**Several.** Under torchrun each rank is a program that calls ``run``, which joins the group that
exists (``torchrun``, ``remote_progress``). The ranks agree on rank 0's clock. A process beside each
rank sees when it dies or is stopped, and all ranks hear of it (``witness``, ``lookout``). What is
different: ``shared_array`` is refused; a deadlock ends at the time limit, which says who waits for
whom; a rank that computes is not interrupted by it.

A message takes three trips of gloo, about a hundred times as long as in shared memory. With
``spawn`` every worker loads torch, which takes seconds.
"""
