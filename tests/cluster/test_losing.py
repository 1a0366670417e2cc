"""A host is killed in the middle of a training: hosts that are this computer, so on any system."""

import time
from contextlib import suppress

import psutil
import pytest

from cluster.losing import EPOCHS, lose_host
from course_lib.lectures.lecture_12 import undisturbed


class HostsHere:
    """Two hosts as ``ThrottledNetwork`` has them, without a network of their own."""

    n_hosts = 2

    def __init__(self, folder):
        self.folder = folder

    def address(self, node):
        return "127.0.0.1"

    def enter(self, node):
        return ()

    def processes(self):
        """List what still runs where the hosts run, after the seconds that witnesses need."""
        until_s = time.monotonic() + 20
        while (found := self._there()) and time.monotonic() < until_s:
            time.sleep(0.1)
        return found

    def _there(self):
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.cwd() == str(self.folder):
                    found.append(process.pid)
        return found


@pytest.mark.soak
def test_the_other_host_says_who_is_lost_nothing_is_left_and_it_goes_on_to_the_bit(tmp_path):
    expected = undisturbed(tmp_path, EPOCHS)
    lost = lose_host(HostsHere(tmp_path), 1, "killed", tmp_path, expected)
    assert [one["host"] for one in lost["told"]] == [0]
    assert "rank 1 " in lost["told"][0]["said"]
    assert lost["kept_epoch"] < lost["epochs"] == EPOCHS
