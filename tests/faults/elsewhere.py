"""What the table of faults does not show: numbers without a row, and what Linux cannot show."""

ELSEWHERE: dict[int, str] = {}
"""Numbers that have no row in the table, and where they are shown, or why they are not."""

NOT_SHOWN = {
    1: "Windows: what is printed, and stacks, travel as records instead of through pipes of their "
    "own; tests/processes/test_output.py has Linux take that way",
    7: "macOS and Windows: there the memory of a worker is read with psutil, which a test of "
    "its own compares with Linux's way",
    8: "Windows: a crash in compiled code has an exit code and no Python stack",
    15: "Windows and macOS: a worker whose compiled code holds Python's lock outlives the program "
    "until that code returns",
    37: "Windows: Ctrl-C reaches the program only, and wakes it at its next look",
    41: "a computer that sleeps cannot be had in a test: the clocks that decide are the monotonic "
    "ones",
    46: "Windows, where nothing can be copied: programs that a worker started are found by their "
    "parent or their environment; everywhere: one that has cut both ties outlives the run",
    47: "Windows, where output travels as records: as 1",
    51: "Windows: 61 workers are the most there, and cannot be overruled",
    52: "macOS and Windows: whether a refused start leaves files or processes",
    61: "macOS, where memory has a name for a moment, as tests/processes/test_memory.py tries on "
    "Linux, and Windows: a system with no room for names or memory",
    62: "a single message of more than 2 and 4 GiB is sent in the soak alone "
    "(tests/processes/test_transport.py)",
    63: "macOS and Windows, which enforce no such limit; a worker that the system kills is row 7",
    64: "elsewhere a program cannot be told another name of its computer without changing it",
    67: "Windows, where nothing ends by a signal",
}
"""Rows whose outcome differs on another system, and what the tests on Linux do not show of it."""

LATER = {
    50: "every exercise with every number of workers",
}
"""Parts of rows that wait for what they are about."""
