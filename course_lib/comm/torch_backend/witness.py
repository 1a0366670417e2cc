"""A small process beside a rank under torchrun: it tells the other machines how the rank ended.

A rank that is killed or stopped cannot say so, and one whose compiled code holds Python's lock
must not be taken for dead because a thread of its is silent. So another process looks after it,
and says every half second that it is well. The witness of rank 0 hears all others and passes on
the first loss to all of them. Whoever is silent himself is gone, or his machine is.

Between a rank and its witness, and between witnesses, go lines of words:

    rank to witness    "join HOST PORT TOKEN", "bye" (the end of the pipe without it: it has died)
    witness to rank    "port N" (of rank 0's), "lost RANK HOW"
    witness to hub     "hello TOKEN RANK", "alive", "lost RANK HOW", "bye"
    hub to witness     "alive", "lost RANK HOW", "bye"

This file is run as a program, and imports nothing of course_lib: it is to start fast.
"""

import hmac
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

import psutil

BEAT_S = 0.5
STOPPED_S = 5.0
"""How long a rank's process may be stopped."""
SILENT_S = 8.0
"""How long nothing may be heard of a rank's witness."""
_CONNECT_S = 20.0
_LATE_S = 3.0
_HUB = 0

Words = list[str]


class Peer:
    """A connection to another witness.

    Parameters
    ----------
    connection : socket.socket
        The connection.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.lines = connection.makefile("r", encoding="utf-8", errors="replace")
        self.silent_s = 0.0

    def tell(self, *words: object) -> None:
        """Send a line; who cannot be reached any more is noticed by his silence."""
        with suppress(OSError):
            self._connection.sendall((" ".join(map(str, words)) + "\n").encode())


class Witness:
    """Looks after one rank, and listens to the other witnesses.

    Parameters
    ----------
    rank : int
        Whose witness this is.
    pid : int
        That rank's process.
    n_to_come : int, default: 0
        How many other witnesses will connect to this one.
    """

    def __init__(self, rank: int, pid: int, n_to_come: int = 0) -> None:
        self._rank = rank
        self._n_to_come = n_to_come
        self._come = threading.Semaphore(0)
        self._process: psutil.Process | None = None
        with suppress(psutil.Error):  # gone already: the first look will tell
            self._process = psutil.Process(pid)
        self._joining: threading.Thread | None = None
        self._events: queue.SimpleQueue[tuple[int, Words | None]] = queue.SimpleQueue()
        self._peers: dict[int, Peer] = {}
        self._lost: list[object] = []
        self._stopped_s = 0.0
        self._switches = 0

    def work(self) -> None:
        """Listen and look until the rank says goodbye, or is gone."""
        threading.Thread(target=self._hear, args=(self._rank, sys.stdin), daemon=True).start()
        looked_s = time.monotonic()
        while True:
            with suppress(queue.Empty):
                who, words = self._events.get(timeout=BEAT_S)
                if who == self._rank and words in (["bye"], None):
                    break
                self._understand(who, words)
            passed_s = time.monotonic() - looked_s
            if passed_s < BEAT_S or not self._events.empty():
                continue  # first all that has been said, also while this process was stopped
            looked_s += passed_s
            if self._look(min(passed_s, 2 * BEAT_S)):
                words = None
                break
        if words is None:
            self._tell_the_end()
        elif not self._lost:
            self._meet_the_late()
        self._tell_all("bye")

    def _meet_the_late(self) -> None:
        """Wait for witnesses that have not met yet: who finds this one gone would report a loss."""
        if self._joining is not None:
            self._joining.join(_CONNECT_S)
        for _ in range(self._n_to_come):
            if not self._come.acquire(timeout=_LATE_S):
                break

    def _tell_the_end(self) -> None:
        """Tell that the rank has ended, even if that was before the witnesses had met."""
        if self._joining is not None:
            self._joining.join(_CONNECT_S)
        self._lose(self._rank, "ended")
        if self._rank == _HUB:
            time.sleep(_LATE_S)

    def listen(self, host: str, token: str) -> None:
        """Be the hub: take the other witnesses' connections, and tell the rank where."""
        server = _server(host)
        threading.Thread(target=self._accept, args=(server, token), daemon=True).start()
        _say("port", server.getsockname()[1])

    def _accept(self, server: socket.socket, token: str) -> None:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=self._admit, args=(connection, token), daemon=True).start()

    def _admit(self, connection: socket.socket, token: str) -> None:
        peer = Peer(connection)
        words = peer.lines.readline(200).split()
        if len(words) == 3 and hmac.compare_digest(words[1], token) and words[2].isdecimal():
            self._peers[int(words[2])] = peer
            self._come.release()
            if self._lost:
                peer.tell(*self._lost)
            self._hear(int(words[2]), peer.lines)
        connection.close()

    def _join(self, host: str, port: str, token: str) -> None:
        with suppress(OSError):
            peer = Peer(socket.create_connection((host, int(port)), timeout=_CONNECT_S))
            peer._connection.settimeout(None)
            peer.tell("hello", token, self._rank)
            self._peers[_HUB] = peer
            threading.Thread(target=self._hear, args=(_HUB, peer.lines), daemon=True).start()

    def _hear(self, who: int, lines: Iterable[str]) -> None:
        with suppress(OSError):
            for line in lines:
                self._events.put((who, line.split()))
        self._events.put((who, None))

    def _understand(self, who: int, words: Words | None) -> None:
        if who in self._peers:
            self._peers[who].silent_s = 0.0
        match words:
            case None:  # the connection has broken
                if self._peers.pop(who, None):
                    self._lose(who, "broken")
            case ["join", *where]:
                self._joining = threading.Thread(target=self._join, args=where, daemon=True)
                self._joining.start()
            case ["bye"]:
                self._peers.pop(who, None)
            case ["lost", rank, how]:
                self._lose(int(rank), how)

    def _look(self, passed_s: float) -> bool:
        """Look after the rank and listen for silence; return whether the rank is gone."""
        for who, peer in list(self._peers.items()):
            peer.silent_s += passed_s
            if peer.silent_s > SILENT_S:
                self._lose(who, "silent")
        self._tell_all("alive")
        if self._process is None:
            return True
        try:
            status = self._process.status()
            switches = sum(self._process.num_ctx_switches())
        except psutil.Error:
            return True
        # Stopped and continued again and again, it has run in between.
        still = status == psutil.STATUS_STOPPED and switches == self._switches
        self._stopped_s = self._stopped_s + passed_s if still else 0.0
        self._switches = switches
        if self._stopped_s > STOPPED_S:
            self._lose(self._rank, "stopped")
        return bool(status == psutil.STATUS_ZOMBIE)

    def _lose(self, rank: int, how: str) -> None:
        """Pass on the first loss; those that follow from it are not told."""
        if not self._lost:
            self._lost = ["lost", rank, how]
            self._tell_all(*self._lost)
            _say(*self._lost)

    def _tell_all(self, *words: object) -> None:
        for peer in list(self._peers.values()):
            peer.tell(*words)


def _server(host: str) -> socket.socket:
    """Listen where the other machines reach this one; on one machine, nowhere else."""
    with suppress(OSError):
        if socket.gethostbyname(host).startswith("127."):
            return socket.create_server(("127.0.0.1", 0))
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", 0))


def _say(*words: object) -> None:
    with suppress(OSError):
        sys.stdout.write(" ".join(map(str, words)) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Be the witness of the rank and the process that the command line names."""
    for number in (signal.SIGINT, signal.SIGTERM):  # it ends with its rank, and not before
        signal.signal(number, signal.SIG_IGN)
    witness = Witness(*map(int, sys.argv[1:4]))
    if len(sys.argv) > 4:
        witness.listen(sys.argv[4], sys.stdin.readline().strip())
    witness.work()


if __name__ == "__main__":
    main()
