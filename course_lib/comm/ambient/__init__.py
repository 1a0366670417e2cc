"""What Python and torch keep for a whole thread or process, and how each rank has its own.

``torch.no_grad()``, ``contextlib.redirect_stdout``, ``np.random.seed``: each changes something that
the next line of *anybody* finds changed. On real processes anybody is the rank itself. In the
simulator all ranks live on one thread, so whoever goes to sleep leaves everything as a new process
has it, takes what was different with it, and puts it back when it wakes up.

**The list** is in ``of_python`` and ``of_torch``: each entry says what is kept, whose it is, how to
see that there is nothing to do, and how to put it aside and back (``entries``). A *flow* (a rank's
function, or one that it has started) has what a thread has; a *rank* has what a process has. What
only a *run* has is shared by its ranks and put back for the caller at the end (``given_back``).

**What it costs.** All checks are one compiled expression (``surroundings``), asked at every switch
between ranks: 0.1 microseconds, and 0.4 more from when torch is loaded. Inside a collective of the
library it is asked once: between its verbs no code of the learner's runs (but finalizers, which run
in anybody's turn as it is). What Python keeps notes by itself that it was changed (``notes``), as
do the functions that turn torch's many switches (``switches_of_torch``), set loggers, change the
working directory (``noted``): only a run that calls one of them looks. Which warnings have been
shown is written again where a change of filters made it void (``registries``). Global generators of
random numbers are too large to be moved each time: one word of their memory tells whether they were
used (``generators``).

**What is not on the list** is shared by simulated ranks: generators of random numbers on CUDA
devices, and whatever other modules keep in variables of their own (``docs/reliability.md``). A
function that was taken from its module before the run (``from os import chdir``) notes nothing;
what it changes is then shared until something else is noted, and the caller's again at the end.
``np.errstate``, ``np.printoptions`` and ``decimal`` need no entry: they are context variables, of
which every flow has its own.
"""
