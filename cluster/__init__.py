"""Hosts on a real, slow network, made on one Linux computer: ``make cluster``.

``python -m cluster`` (as root) makes two or four hosts out of network namespaces, each with a NIC
of 100 Mbit/s at one switch, and starts torchrun on all of them: the programs talk TCP, and each
byte between hosts waits for its turn. ``python -m cluster --help`` says what can be changed. Where
such hosts cannot be made, it prints the commands and a recorded run, which lecture 12 shows, too:
``course_lib/lectures/lecture_12/recorded.json``.

From the bottom up: ``network`` makes the hosts and removes them. ``wire`` says what of 100 Mbit/s
is left for a program. ``launches`` starts torchrun on every host. ``timing`` and ``training`` are
what the ranks run: all-reduces, and training steps by ours and by PyTorch's DDP. ``predicted`` has
the simulator do the same. ``losing`` loses a host, and goes on. ``report`` prints what was found.
"""
