"""A plugin of nbval's pytest: its notebooks share a kernel, which forgets the names between two.

To start a kernel, to import and to start the process that workers are copies of takes longer than
many a notebook does. The first one has the kernel fresh; in the next, an import or a definition
that is missing is an error as ever, for the names of the one before are gone.
"""

from typing import Any

from nbval import kernel, plugin
from nbval.kernel import RunningKernel

from tests.kernels import kernel_manager

_running: list[RunningKernel] = []


def _kernel(kernel_name: str, cwd: str, **options: Any) -> RunningKernel:
    if not (_running and _running[0].is_alive()):
        _running[:] = [RunningKernel(kernel_name, cwd=cwd, **options)]
        return _running[0]
    # What the notebook before has imported stays: the garbage collector need not look at it again.
    source = f"%reset -f\nimport gc, os; os.chdir({cwd!r}); gc.collect(); gc.freeze(); del gc, os"
    sent = _running[0].execute_cell_input(source, allow_stdin=False)
    _running[0].await_reply(sent, timeout=60)
    _running[0].await_idle(sent, timeout=60)
    return _running[0]


def _leave_it_running(_: Any) -> None:
    """End a notebook, but not its kernel."""


kernel.KernelManager = kernel_manager
plugin.RunningKernel = _kernel
plugin.IPyNbFile.teardown = _leave_it_running


def stop() -> None:
    """Stop the kernel."""
    for running in _running:
        if running.is_alive():
            running.stop()
