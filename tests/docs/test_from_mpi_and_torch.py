"""Every line of Python in ``docs/from_mpi_and_torch.md`` runs, and gives what stands behind it."""

import functools
import re
from pathlib import Path

import pytest

from tests.mpi_ranks import WHY_NOT
from tests.worlds import REAL, World

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "from_mpi_and_torch.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
RESULT = re.compile(r"^(run\(.*)  # (.*)$")


UNDER_MPIEXEC = [
    pytest.mark.soak,
    pytest.mark.mpiexec,
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]


@pytest.mark.parametrize(
    "backend",
    [
        "simulated",
        *(pytest.param(name, marks=pytest.mark.slow) for name in REAL),
        pytest.param("mpi", marks=UNDER_MPIEXEC),
    ],
)
def test_every_block_runs_and_gives_what_it_says(backend):
    names = {"__name__": "from_mpi_and_torch"}
    imports, *examples = BLOCKS
    exec(compile(imports, PAGE.name, "exec"), names)
    names["run"] = functools.partial(World(backend), trace=False)
    for example in examples:
        *lines, last = example.splitlines()
        exec(compile("\n".join(lines), PAGE.name, "exec"), names)
        expression, told = RESULT.match(last).groups()
        assert repr(eval(expression, names)) == told, last


def test_the_results_are_all_that_is_not_run_as_it_stands():
    for block in BLOCKS[1:]:
        calls = [line for line in block.splitlines() if line.startswith("run(")]
        assert len(calls) == 1, block
        assert block.rstrip().endswith(calls[0])
        assert RESULT.match(calls[0])


def test_every_collective_and_verb_that_is_named_is_there():
    from course_lib.comm.communicator import Communicator

    ours = " ".join(re.findall(r"^\|.*\|.*\| (.*) \|$", TEXT, re.MULTILINE))
    verbs = re.findall(r"comm\.(\w+)", ours)
    assert {"send", "recv", "recv_any", "start", "split", "clock"} <= set(verbs)
    for verb in verbs:
        assert hasattr(Communicator, verb) or verb in ("rank", "size"), verb
    collectives = {file.stem for file in (REPOSITORY / "course_lib" / "collectives").glob("*.py")}
    named = set(re.findall(r"`(\w+)[`(]", ours)) - {
        "run",
        "comm",
        "fn",
        "tag",
        "ALLREDUCES",
        "RankLost",
    }
    assert {"broadcast_tree", "gather"} <= named <= collectives


def test_the_readme_and_the_contract_lead_here():
    assert "docs/from_mpi_and_torch.md" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
    contract = REPOSITORY / "course_lib" / "comm" / "communicator.py"
    assert "docs/from_mpi_and_torch.md" in contract.read_text(encoding="utf-8")
