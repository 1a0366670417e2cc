"""Programs that multiprocessing or a rank starts can call ``run`` themselves, in every world."""

import json
import subprocess
import sys

import pytest

from tests.programs import Program

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from course_lib import run

STATE = np.zeros(1)

class Tally:
    count = 0

def step(comm):
    STATE[0] += 1
    Tally.count += 1
    comm.barrier()
    return float(STATE[0]), Tally.count

def job(backend):
    return run(step, workers=2, backend=backend).values, float(STATE[0]), Tally.count

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        print(json.dumps(list(executor.map(job, [BACKEND]))), flush=True)
"""


def test_its_ranks_share_nothing_either(rarely_torch, tmp_path):
    script = f"BACKEND = {rarely_torch.backend!r}\n{SCRIPT}"
    with Program(tmp_path, script, "spawn") as program:
        output, errors = program.process.communicate(timeout=120)
    assert json.loads(output) == [[[[1.0, 1], [1.0, 1]], 0.0, 0]], errors.decode()


def test_a_module_that_calls_run_while_it_is_imported_is_told_so(tmp_path):
    lines = ["from course_lib import run", "def f(comm): ...", "run(f, workers=2)"]
    (tmp_path / "own_module.py").write_text("\n".join(lines))
    with Program(tmp_path, "import own_module", "forkserver") as program:
        _, errors = program.process.communicate(timeout=60)
    said = "that calls run() meanwhile, at own_module.py, line 3; put the call into a function"
    assert said in errors.decode()


def test_a_program_that_a_rank_starts_calls_run_as_any_other(launching_world):
    options = "workers=2, backend='simulated'"
    text = f"from course_lib import run; print(run(lambda comm: comm.rank, {options}).values)"

    def work(comm):
        command = [sys.executable, "-c", text]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    [ended] = launching_world(work, workers=1).values
    assert ended.stdout == "[0, 1]\n", ended.stderr
