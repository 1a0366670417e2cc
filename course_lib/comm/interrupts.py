"""Ctrl-C, and other signals, while a run is under way: raised at a safe place, else noted.

Python raises ``KeyboardInterrupt`` wherever the main thread happens to be: between the start of a
thread and the line that would end it, for one, or in the clean-up itself; and so does whatever a
handler of the program's own raises. So for the time of a run another stands in for each handler.
What that one raises leaves at once where the ranks' own code runs, if they run in this thread;
anywhere else it is noted, and the run ends with it.
"""

import _thread
import math
import signal
import sys
import threading
import time

# That of ``signal`` makes an enum of each answer: for all of them a third of a millisecond a run.
from _signal import getsignal  # type: ignore[import-not-found]
from collections.abc import Callable, Generator
from types import CodeType, FrameType, GeneratorType
from typing import Any, Generic, TypeVar

from course_lib.comm.forks import in_copies

__all__ = ["Interrupts", "WatchedCall", "getsignal"]

T = TypeVar("T")

_AGAIN_S = 0.001
_SIGNALS = sorted(signal.valid_signals())


class WatchedCall(Generic[T]):
    """A call of which another thread, or a signal handler, can tell whether it is under way.

    A flag would have to be lowered, and an exception may come just before that. A generator runs
    exactly as long as its body does, wherever exceptions come: the interpreter sees to that.

    Parameters
    ----------
    fn : callable
        What to call, once, without arguments.
    """

    def __init__(self, fn: Callable[[], T]) -> None:
        self._body: Generator[T, None, None] | None = _body(fn)

    def __call__(self) -> T:
        """Call it; return what it returns."""
        body = self._body
        assert body is not None
        try:
            return next(body)
        finally:
            self._body = None  # or it would hold what was returned

    @property
    def is_under_way(self) -> bool:
        """Whether it is being called."""
        body = self._body
        return isinstance(body, GeneratorType) and body.gi_running


def _body(fn: Callable[[], T]) -> Generator[T, None, None]:
    yield fn()


class Interrupts:
    """What stands in for the program's handlers of signals while a ``with`` block lasts.

    Signals reach the main thread only, so in another one nothing is changed.

    Attributes
    ----------
    error : BaseException or None
        What a handler of the program has raised: of Ctrl-C, ``KeyboardInterrupt`` as a rule.
    noted_s : float
        When that was, on the monotonic clock.
    """

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.noted_s = math.inf
        self._before: dict[int, Any] = {}
        self._inside: WatchedCall[Any] | None = None
        self._lets_in = False
        self._strike: type[BaseException] | None = None
        self._unraisable: Any = None
        self._again: threading.Thread | None = None
        self._presses = False

    def __enter__(self) -> "Interrupts":
        """Take over what has a handler; and Ctrl-C, unless the system's own way is in force."""
        if threading.current_thread() is threading.main_thread():
            self._unraisable = sys.unraisablehook
            sys.unraisablehook = self._hear_in_vain
            for each in _SIGNALS:
                before = getsignal(each)
                if callable(before) or (each == signal.SIGINT and before is signal.SIG_IGN):
                    self._before[each] = before  # first: with the next line it may be needed
                    signal.signal(each, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back, but for what the program has replaced itself meanwhile.

        What is on its way by now is still noted.
        """
        self._press_no_more()
        if sys.unraisablehook == self._hear_in_vain:
            sys.unraisablehook = self._unraisable
        for each, before in self._before.items():
            if each == signal.SIGINT or getsignal(each) == self._hear:
                signal.signal(each, before)
        if self.error is not None:
            self.error.__traceback__ = None  # its frames hold this object

    def have_raised(self, error: BaseException) -> bool:
        """Tell whether an exception is Ctrl-C, and not one that a function has raised itself."""
        return issubclass(type(error), KeyboardInterrupt) and self.error is not None

    def call(self, fn: Callable[[], T], *, lets_in: bool = True) -> T:
        """Call a function that may be interrupted anywhere.

        Parameters
        ----------
        fn : callable
            Without arguments.
        lets_in : bool, default: True
            Whether Ctrl-C is raised in there; else only what ``strike`` raises is.

        Returns
        -------
        Any
            What it returns.
        """

        def inside() -> T:
            if lets_in and self.error is not None:  # it came a moment too early to be raised here
                raise self.error
            return fn()

        self._strike = None
        self._lets_in = lets_in
        call: WatchedCall[T] = WatchedCall(inside)
        self._inside = call
        return call()

    @property
    def is_inside(self) -> bool:
        """Whether such a function is being called."""
        return self._inside is not None and self._inside.is_under_way

    def strike(self, error: type[BaseException], *, wake: bool) -> bool:
        """Have an exception raised in that function; another thread asks for it.

        Parameters
        ----------
        error : type of BaseException
            What to raise, if the function has not ended by then.
        wake : bool
            Whether a call that sleeps in compiled code is to be woken up for it (POSIX).

        Returns
        -------
        bool
            False if Ctrl-C is not ours: the function runs in another thread than the main one, or
            has set a handler of its own.
        """
        if not self._before or getsignal(signal.SIGINT) != self._hear:
            return False
        self._strike = error  # for the rest of the call: two signals may arrive as one
        _interrupt(wake=wake)
        return True

    def note(self, error: BaseException) -> None:
        """Have the run end with an error, unless one has been noted before; any thread may call."""
        if self.error is None:
            self.error = error
            self.noted_s = time.monotonic()
            self._noted()

    def outcome(self, error: BaseException | None, what: str) -> BaseException | None:
        """Return how the run ends: with the interrupt, if there was one.

        Parameters
        ----------
        error : BaseException or None
            How it would end without.
        what : str
            What was going on if nothing else can be told of it: ``"its workers were leaving"``.

        Returns
        -------
        BaseException or None
            What to raise.
        """
        if self.error is None:
            return error
        if type(self.error) is not KeyboardInterrupt:
            return self.error
        if isinstance(error, KeyboardInterrupt) and error is not self.error:
            return error  # which says where the ranks were
        return KeyboardInterrupt(f"the run was interrupted while {what}")

    def _hear(self, signum: int, frame: FrameType | None) -> None:
        if self._strike is not None and signum == signal.SIGINT:
            if self.is_inside:
                raise self._strike
            return
        if self._again is not None and signum == signal.SIGINT:
            # Not in there: it would be swallowed once more.
            if self._may_raise_again(frame):
                self._press_no_more()
                assert self.error is not None
                raise self.error
            return
        before = self._before[signum]
        try:
            if callable(before):
                before(signum, frame)
        except BaseException as error:
            self.note(error)
            if self._lets_in and self.is_inside:
                raise

    def _hear_in_vain(self, unraisable: Any) -> None:
        """Raise the interrupt once more, soon, if it came where Python swallows what is raised.

        What a weak reference calls back does so, and ``__del__``. Without this a run without an
        end would never hear of it. Who strikes does so again without being asked.
        """
        if self._strike is not None and unraisable.exc_type is self._strike:
            return
        if self.error is None or unraisable.exc_value is not self.error:
            self._unraisable(unraisable)
            return
        self._presses = True
        self._again = threading.Thread(target=self._press_again, name="Ctrl-C", daemon=True)
        self._again.start()

    def _may_raise_again(self, frame: FrameType | None) -> bool:
        inside = self._presses and self._lets_in and self.is_inside
        return inside and not _is_within(frame, Interrupts._hear_in_vain.__code__)

    def _press_again(self) -> None:
        while self._presses:
            _interrupt(wake=True)
            time.sleep(_AGAIN_S)

    def _press_no_more(self) -> None:
        if self._again is not None and self._presses:
            self._presses = False
            self._again.join()  # the last one that it has pressed is heard here, and means nothing
            self._again = None

    def _noted(self) -> None:
        """Do what has to be done at the first interrupt; often called in the handler."""


def _interrupt(*, wake: bool) -> None:
    """Have the handler called; with ``wake``, also where a call sleeps in compiled code (POSIX)."""
    _thread.interrupt_main()
    if wake and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def _is_within(frame: FrameType | None, code: CodeType) -> bool:
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


@in_copies
def _give_back() -> None:
    """Put back the program's own handlers, if a run had taken them over."""
    for each in _SIGNALS:
        handler = first = getsignal(each)
        while isinstance(owner := getattr(handler, "__self__", None), Interrupts):
            handler = owner._before[each]
        if handler is not first:
            signal.signal(each, handler)
