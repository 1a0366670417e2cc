"""What only some schemes take on the command line: read, or refused by name."""

import argparse
from typing import Any

from course_lib.cli.own_allreduce import OwnAllreduce, load_allreduce
from course_lib.console.options import as_option
from course_lib.console.own_file import is_own
from course_lib.train.catalogue import OPTIONS, SCHEMES

__all__ = ["check_servers", "own_options"]


def own_options(chosen: argparse.Namespace) -> tuple[dict[str, Any], OwnAllreduce | None]:
    """Read the options that only some schemes take.

    Parameters
    ----------
    chosen : argparse.Namespace
        The words.

    Returns
    -------
    options : dict
        What a checkpoint remembers of each, by name.
    own : OwnAllreduce or None
        The all-reduce, if it is one of the learner's.

    Raises
    ------
    ValueError
        If the scheme does not take one that is there, or its value makes no sense.
    """
    scheme = SCHEMES[chosen.scheme]
    taken = scheme.options
    for name in OPTIONS:
        if getattr(chosen, name) is not None and name not in taken:
            takers = [scheme for scheme, one in SCHEMES.items() if name in one.options]
            raise ValueError(
                f"{as_option(name)} is for --scheme {' or '.join(takers)}, not {chosen.scheme}"
            )
    read: dict[str, Any] = {}
    own = None
    for name in taken:
        option, given = OPTIONS[name], getattr(chosen, name)
        if option.only_with and (other := read[option.only_with[0]]) != option.only_with[1]:
            if given is not None:
                needed = " ".join((as_option(option.only_with[0]), option.only_with[1]))
                raise ValueError(f"{as_option(name)} is for {needed}, not {other}")
            continue
        text = scheme.usual.get(name) if given is None else given
        if name == "allreduce" and text is not None and is_own(text):
            own = load_allreduce(text)
            read[name] = own.kept
            continue
        read[name] = option.read(as_option(name), text)
    return read, own


def check_servers(servers: int, workers: int, backups: int) -> None:
    """Refuse fewer ranks than serve and work.

    Parameters
    ----------
    servers, workers, backups : int
        How many only serve, how many there are in all, and for how many no step waits.

    Raises
    ------
    ValueError
        Naming the option that is too small, or too large.
    """
    if 0 < servers >= workers:
        what = "1 server" if servers == 1 else f"{servers} servers"
        raise ValueError(
            f"--workers counts all ranks: with {what} there must be {servers + 1} or more, "
            f"got {workers}"
        )
    if backups >= workers - servers:
        raise ValueError(
            f"--backups must be less than the {workers - servers} that work of --workers "
            f"{workers}, got {backups}"
        )
