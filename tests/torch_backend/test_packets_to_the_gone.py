"""A packet that a rank had asked for when it ended, before it came, holds up nobody."""

import subprocess
import sys
import time

import pytest

from tests.programs import REPOSITORY

pytestmark = pytest.mark.slow

N_BYTES = 2**28  # takes longer to send than the receiver lives
SCRIPT = f"""
import os, sys, threading
from datetime import timedelta
import torch
import torch.distributed as dist
from course_lib.comm.torch_backend.groups import Groups

def say(word):
    print(word, flush=True)

rank = int(sys.argv[1])
store = dist.FileStore(sys.argv[2], 3)
os.environ["LOCAL_WORLD_SIZE"] = "3"
groups = Groups(dist.ProcessGroupGloo(store, rank, 3, timedelta(days=7)), rank, None)
if rank == 1:
    room = torch.empty({N_BYTES}, dtype=torch.uint8)
    threading.Thread(target=groups.next_packet, args=(room,), daemon=True).start()
    sys.stdin.readline()
    os._exit(0)
if rank == 2:
    groups.next_packet(torch.empty(1, dtype=torch.uint8))
    say("taken")
    sys.stdin.readline()
    os._exit(0)
groups.post(bytearray({N_BYTES}), 1)
groups.post(bytearray(1), 2)
say("posted")
sys.stdin.readline()
groups.flush()
say("flushed")
os._exit(0)
"""


@pytest.fixture
def three(tmp_path):
    """Start three ranks that are told by lines what to do; yield them."""
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(rank), str(tmp_path / "store")],
            cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for rank in range(3)
    ]  # fmt: skip
    yield ranks
    for rank in ranks:
        rank.kill()
        rank.communicate()


def test_what_a_rank_that_ends_had_asked_for_holds_up_nobody(three):
    sender, gone, there = three
    assert sender.stdout.readline() == "posted\n"
    gone.stdin.write("\n")
    gone.stdin.flush()
    gone.wait(10)
    sender.stdin.write("\n")
    sender.stdin.flush()
    told_s = time.monotonic()
    assert sender.stdout.readline() == "flushed\n"
    assert time.monotonic() - told_s < 5
    assert there.stdout.readline() == "taken\n"
