"""The board has room for whatever a rank starts, and a copy of it is one moment's."""

import pytest

from course_lib.comm.processes.memory.layout import prepare, read_board, total_bytes
from course_lib.comm.processes.memory.mailbox import NOBODY, mailbox_words
from course_lib.comm.processes.memory.shared_arrays import Arena
from course_lib.comm.processes.memory.wait_board import WaitBoard, Waiting

SIZE = 3
N_FLOWS = 200  # some pages more than are there from the start


@pytest.fixture
def arena():
    made = Arena()
    yield made
    made.close()


def board_in(memory, arena):
    start = 8 * SIZE * mailbox_words(SIZE)
    return WaitBoard(
        memoryview(memory)[start : start + 8 * SIZE * WaitBoard.WORDS].cast("q"), arena
    )


def receiving(number):
    return Waiting("recv", number % 2, NOBODY)


def test_entries_are_added_in_pages_that_all_processes_find(arena):
    memory = bytearray(total_bytes(SIZE))
    prepare(memoryview(memory), SIZE)
    mine, theirs = board_in(memory, arena), board_in(memory, arena)
    for number in range(N_FLOWS):
        mine.open(2, number)
        assert theirs.state(2, asleep=True).at_work
    for number in range(N_FLOWS):
        mine.waits(2, number, *receiving(number))
        theirs.accept(2, number, 1000 + number)
    assert [mine.accepted(2, number) for number in range(N_FLOWS)] == [
        1000 + number for number in range(N_FLOWS)
    ]
    copy = read_board(memoryview(memory), SIZE, arena)
    mine.ends(2, N_FLOWS - 1)
    for board, n_open in ((copy, N_FLOWS), (theirs, N_FLOWS - 1)):
        state = board.state(2, asleep=True)
        assert state.waiting == tuple(map(receiving, range(n_open)))
        assert not state.at_work
        assert board.state(1, asleep=True).waiting == ()
    assert copy.state(2, asleep=True).stamp < theirs.state(2, asleep=True).stamp


def test_one_of_many_that_goes_on_is_enough(arena):
    memory = bytearray(total_bytes(SIZE))
    board = board_in(memory, arena)
    for number in range(N_FLOWS):
        board.open(0, number)
        board.waits(0, number, *receiving(number))
    assert not board.state(0, asleep=True).at_work
    assert board.state(0, asleep=False).at_work
    board.goes_on(0, N_FLOWS - 2)
    assert board.state(0, asleep=True).at_work


def test_who_waits_for_its_own_rank_alone_listens_to_no_bell(arena):
    board = board_in(bytearray(total_bytes(SIZE)), arena)
    for number in range(2):
        board.open(1, number)
        board.waits(1, number, "wait", NOBODY, NOBODY)
    assert not board.state(1, asleep=False).at_work


def test_where_no_other_process_reads_it_the_board_needs_no_shared_memory():
    board = WaitBoard(memoryview(bytearray(8 * WaitBoard.WORDS)).cast("q"), None)
    for number in range(N_FLOWS):
        board.open(0, number)
    board.accept(0, N_FLOWS - 1, 7)
    assert board.accepted(0, N_FLOWS - 1) == 7
