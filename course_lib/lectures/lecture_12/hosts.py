"""Hosts that are this computer: torchrun's agents, each with ranks of its own."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from course_lib.lectures.lecture_12 import in_rank
from course_lib.trace.trace import Trace

if TYPE_CHECKING:
    import psutil

__all__ = ["IMPORTS", "Hosts", "on_two_hosts", "words_of"]

IMPORTS = """
import torch
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from course_lib import run
from course_lib.lectures.lecture_12 import X, kept, model, plan, y
from course_lib.schemes import data_parallel


def torch_mlp(w):
    layers = torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    net = torch.nn.Sequential(*layers).double()
    torch.nn.utils.vector_to_parameters(torch.tensor(w), net.parameters())
    return net

"""
"""How the lecture's script begins."""

_LIMIT_S = 240.0
_N_OPTIONS = 5  # of torchrun's, before the program


def words_of(
    node: int, port: int, *program: str, nodes: int = 2, each: int = 1, address: str = "127.0.0.1"
) -> list[str]:
    """Write the command that one host is given.

    Parameters
    ----------
    node, port : int
        Which host it is, and where on the first one they meet.
    *program : str
        The script and its arguments.
    nodes, each : int
        How many hosts, and ranks on each.
    address : str, default: "127.0.0.1"
        The first host's.

    Returns
    -------
    list of str
        Words of a command line.
    """
    return [
        "torchrun", f"--nnodes={nodes}", f"--nproc-per-node={each}", f"--node-rank={node}",
        f"--master-addr={address}", f"--master-port={port}", *program,
    ]  # fmt: skip


class Hosts:
    """Programs that torchrun has started; a ``with`` block ends them, whatever happens.

    Parameters
    ----------
    *program : str
        What each host starts.
    folder : Path
        Where it runs.
    each : int, default: 1
        How many ranks a host has.
    address : str, default: "127.0.0.1"
        Where the others find the first host.
    enter : sequence of sequence of str, default: two of no words
        For each host the words that come before the command, so that it runs there.

    Attributes
    ----------
    commands : list of str
        What would be typed on each host.
    """

    def __init__(
        self,
        *program: str,
        folder: Path,
        each: int = 1,
        address: str = "127.0.0.1",
        enter: Sequence[Sequence[str]] = ((), ()),
    ) -> None:
        port = _free_port()
        typed = [
            words_of(node, port, *program, nodes=len(enter), each=each, address=address)
            for node in range(len(enter))
        ]
        self.commands = [" ".join(words) for words in typed]
        self._folder = folder
        self._hosts: list[subprocess.Popen[bytes]] = []
        try:
            for before, words in zip(enter, typed, strict=True):
                self._hosts.append(self._start(before, words))
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def _start(self, before: Sequence[str], words: Sequence[str]) -> "subprocess.Popen[bytes]":
        # A rank writes nothing but text, and one thread is what a rank of two has.
        where = {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        options = words[1:] if before else _sooner(words[1:])
        with (self._folder / f"host{len(self._hosts)}.txt").open("wb") as printed:
            return subprocess.Popen(
                [*before, sys.executable, "-m", "torch.distributed.run", *options],
                cwd=self._folder, env=os.environ | where, stdin=subprocess.DEVNULL, stdout=printed,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def __enter__(self) -> "Hosts":
        """Have the hosts until the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End them."""
        for node in range(len(self._hosts)):
            self.kill(node)

    def kill(self, node: int) -> None:
        """Let a host fail: its agent and its ranks are gone at once, and say nothing."""
        import psutil

        host = self._hosts[node]
        if host.poll() is not None:
            return  # it has ended its ranks itself
        ranks: list[psutil.Process] = []
        with suppress(psutil.Error):
            agent = psutil.Process(host.pid)
            agent.suspend()  # or it might start one more rank meanwhile
            ranks += agent.children(recursive=True)
            for one in (*ranks, agent):
                with suppress(psutil.Error):
                    one.kill()
        host.wait()
        while any(_is_alive(one) for one in ranks):
            time.sleep(0.001)

    def wait(self, node: int, limit_s: float = _LIMIT_S) -> int:
        """Wait until a host has ended, and return its exit code."""
        return self._hosts[node].wait(limit_s)

    def printed(self, node: int) -> str:
        """Return what a host has printed so far."""
        return (self._folder / f"host{node}.txt").read_text(errors="replace")

    def until(self, file: Path, text: str) -> None:
        """Wait until a file holds a text, or the hosts have ended."""
        end_s = time.monotonic() + _LIMIT_S
        while not (file.is_file() and text in file.read_text(errors="replace")):
            if time.monotonic() > end_s or self._hosts[0].poll() is not None:
                raise RuntimeError(f"{file} never held {text!r}; host 0 said:\n{self.printed(0)}")
            time.sleep(0.01)


def on_two_hosts(script: str, names: Sequence[str]) -> dict[str, Trace]:
    """Start a script on two hosts that are this computer; return the traces that it has kept.

    Parameters
    ----------
    script : str
        Its text; it saves each trace in the current folder, as ``NAME.json``.
    names : sequence of str
        Theirs.

    Returns
    -------
    dict of str to Trace
        By name.

    Raises
    ------
    RuntimeError
        If a host ends with an error; the text has what it printed.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "script.py").write_text(script, encoding="utf-8")
        with Hosts("script.py", folder=folder) as hosts:
            codes = [hosts.wait(node) for node in (0, 1)]
            if any(codes):
                raise RuntimeError(f"{hosts.commands[0]}\n{hosts.printed(0)}\n{hosts.printed(1)}")
        return {name: Trace.load(folder / f"{name}.json") for name in names}


def _sooner(words: Sequence[str]) -> list[str]:
    """Have torchrun fork its ranks, where that is safe: they need not load torch again."""
    if not sys.platform.startswith("linux"):
        return list(words)
    options, program = words[:_N_OPTIONS], words[_N_OPTIONS:]
    return [*options, "--start-method=fork", "--run-path", str(in_rank.__file__), *program]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _is_alive(process: "psutil.Process") -> bool:
    import psutil

    with suppress(psutil.Error):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False
