"""The tests of the contract that cannot hold under mpiexec, each with its reason."""

_NO_SHARED_MEMORY = "ranks under mpiexec share no memory: shared_array is refused, in words"
_NO_LAUNCHER = "ranks are programs, nobody sees all: a deadlock ends at the time limit"
_OWN_PROGRAM = "starts programs that call run by themselves, and mpiexec has not started those"
_NO_METHOD = "ranks are programs that mpiexec has started, and not by forkserver or spawn"

REASONS = {
    # of whole files
    "test_shared_arrays.py": _NO_SHARED_MEMORY,
    "test_copies_of_the_program.py": _OWN_PROGRAM,
    "test_ends_of_the_program.py": _OWN_PROGRAM,
    "test_signals_during_a_run.py": _OWN_PROGRAM,
    "test_spawned_programs.py": _OWN_PROGRAM,
}
"""By a file's name, or a test's, without its parameters."""
