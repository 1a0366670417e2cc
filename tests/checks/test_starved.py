"""Where other programs have the processors, no right answer is called slow."""

import subprocess
import sys

import pytest

from course_lib.checks.check import LIMITS, _undisturbed
from course_lib.checks.diagnosis import slow_fault
from course_lib.checks.sandbox import Mishap, Observation

_TWO_ON_ONE_PROCESSOR = """
import os, time
from course_lib.checks.starved import starved_s
os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
other = os.fork()
if not other:
    began_s = time.monotonic()
    while time.monotonic() - began_s < 20.0:
        pass
    os._exit(0)
began_s, before_s = time.monotonic(), starved_s()
while time.process_time() < 0.3:
    pass
wall_s, starved = time.monotonic() - began_s, starved_s() - before_s
os.kill(other, 9)
os.waitpid(other, 0)
print(wall_s, starved)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts it")
def test_time_in_which_another_program_has_the_processor_is_counted():
    command = [sys.executable, "-c", _TWO_ON_ONE_PROCESSOR]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    wall_s, starved = map(float, told.split())
    assert starved > 0.02, "two share a processor"
    assert 0 < wall_s - starved < 0.5, "what is left is the time in which it ran: at most 0.3 s"


def test_cases_that_had_no_processor_are_undecided_and_slow_ones_are_slow():
    starved = [Observation(wall_s=0.01, starved_s=0.4)] * 12
    fault = slow_fault(starved, 50)
    assert fault.hint.id == "too-busy"
    assert fault.says.startswith("undecided: 12 of 50 cases were run, and are right")
    for starved_s in (0.01, 0.8):
        slow = [Observation(wall_s=0.4, starved_s=starved_s)] * 12
        assert slow_fault(slow, 50).hint.id == "too-slow"


def test_a_case_that_had_no_processor_is_put_off_and_one_that_loops_is_not():
    right = Observation(wall_s=0.01)
    late = Mishap("LaunchTimeout", "the function had not returned after 3 s")
    starved = Observation(mishap=late, wall_s=0.1, starved_s=3.0)
    loops = Observation(mishap=late, wall_s=0.5, starved_s=2.5)
    fails = Observation(mishap=Mishap("DeadlockError", "deadlock"), wall_s=0.1, starved_s=3.0)
    assert _undisturbed([right, starved], LIMITS) == [right]
    assert _undisturbed([right, loops], LIMITS) == [right, loops]
    assert _undisturbed([right, fails], LIMITS) == [right, fails]
    assert _undisturbed([], LIMITS) == []
