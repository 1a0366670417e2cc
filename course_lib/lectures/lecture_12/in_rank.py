"""Run a script or a module in a rank that torchrun has forked, as ``python`` would run it.

``torchrun --start-method=fork --run-path in_rank.py script.py`` and the script's own words: the
rank is a copy of its launcher, which has loaded torch already. A rank that begins with a new Python
would load it again, for two seconds. Torchrun waits until this file returns, also where the
program ends by ``sys.exit(0)``.
"""

import runpy
import sys


def main(words: list[str]) -> None:
    """Run what the words name: a script, or ``-m`` and a module; its own words follow."""
    is_module = words[0] == "-m"
    sys.argv[:] = words[is_module:]
    try:
        if is_module:
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    main(sys.argv[1:])
