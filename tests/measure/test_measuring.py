"""What is measured is an all-reduce with right sums, and stands beside what is predicted."""

import itertools

import pytest

from course_lib import networks
from course_lib.cli.sizes import read_size
from course_lib.collectives import ALLREDUCES
from course_lib.comm.errors import RunError
from course_lib.costs import predicted_s, price
from course_lib.measure import Measurement, allreduce, compare, measure_allreduce
from course_lib.words.tables import as_text
from course_lib.words.units import in_bytes, in_seconds


@pytest.mark.parametrize("algorithm", ALLREDUCES)
@pytest.mark.parametrize("workers", [2, 4])
def test_on_the_simulator_predicted_is_measured(algorithm, workers):
    """Small messages do not wait, large ones do: the prediction knows from which size on."""
    network = networks.ethernet_1g
    sizes = [1_600, 64_000, 1_600_000]
    found = measure_allreduce(
        algorithm, sizes, workers=workers, backend="simulated", network=network
    )
    name = f"allreduce_{algorithm}"
    is_exact = price(name, workers, 1_600).is_exact and algorithm != "tree"
    for one in found:
        expected = predicted_s(
            name, workers, one.n_bytes, network.latency_s, network.beta_s_per_byte, item_bytes=4
        )
        if is_exact:
            assert one.median_s == pytest.approx(expected, rel=1e-9)
        else:
            assert one.median_s <= expected * (1 + 1e-9)


def test_bus_bandwidth_is_what_a_rank_must_send_by_the_time_it_took():
    found = Measurement("ring", 4, 1_000_000, "processes", (2e-3, 1e-3, 9e-3))
    assert found.median_s == 2e-3
    assert found.bus_bandwidth_bytes_per_s == pytest.approx(1.5e6 / 2e-3)
    assert Measurement("ring", 1, 1_000, "simulated", (0.0,)).bus_bandwidth_bytes_per_s == 0


def forgets_the_last_rank(comm, array, out):
    if comm.rank == comm.size - 1:
        array[...] = 0
    return ALLREDUCES["ring"](comm, array, out=out)


def turns_it_by_one(comm, array, out):
    out[...] = ALLREDUCES["ring"](comm, array)[[*range(1, len(array)), 0]]


@pytest.mark.parametrize("wrong", [forgets_the_last_rank, turns_it_by_one])
def test_a_wrong_sum_is_told_with_its_place(monkeypatch, wrong):
    monkeypatch.setitem(allreduce.ALLREDUCES, "wrong", wrong)
    with pytest.raises(RunError, match=r"allreduce_wrong, rank \d of 3, 4,000 bytes: place 0"):
        measure_allreduce("wrong", [4_000], workers=3, backend="simulated")


def test_ten_thousand_ranks_would_still_add_up_exactly():
    largest = sum(float(allreduce.weight(rank)) for rank in range(10_000))
    assert largest * allreduce._numbers(97).max() < 2**24


def test_bad_arguments_are_told():
    with pytest.raises(ValueError, match=r"one of central, .*, got 'rong'"):
        measure_allreduce("rong", [8], workers=2)
    with pytest.raises(ValueError, match="multiples of 4 bytes, got 6"):
        measure_allreduce("ring", [6], workers=2)


@pytest.mark.slow
def test_predicted_simulated_and_measured_stand_side_by_side():
    told = []
    found = compare(["ring", "central"], [1_000, 64_000], workers=2, repeats=2, tell=told.append)
    assert told == ["messages, 2 workers", "ring, 2 workers", "central, 2 workers"]
    assert [(row.algorithm, row.n_bytes) for row in found.rows] == list(
        itertools.product(["ring", "central"], [1_000, 64_000])
    )
    for row in found.rows:
        assert row.predicted_s == pytest.approx(row.simulated_s, rel=1e-6)
        assert row.measured_s > 0
    head, columns, *rows = str(found).splitlines()
    assert "2 workers, this computer:" in head
    assert columns.split() == ["algorithm", "size", "predicted", "simulated", "measured"]
    assert len(rows) == 4
    assert found._repr_html_().count("<tr>") == 5
    assert found.plot().to_png().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("4096", 4096), ("1KB", 1_000), ("64kb", 64_000), ("1 MiB", 2**20), ("2GB", 2 * 10**9)],
)
def test_sizes_are_read_as_people_write_them(text, n_bytes):
    assert read_size(text, 4) == n_bytes


@pytest.mark.parametrize("text", ["", "KB", "-1KB", "1.5KB", "1TB", "0", "6"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="sizes"):
        read_size(text, 4)


def test_numbers_have_three_digits_and_their_unit():
    assert [in_seconds(s) for s in (1.5, 0.0203, 4.2e-7, None)] == [
        "1.5 s",
        "20.3 ms",
        "0.42 µs",
        "–",
    ]
    assert [in_bytes(n) for n in (999, 1_000, 64_000, 12_345_678, 3e12)] == [
        "999 B", "1 KB", "64 KB", "12.3 MB", "3,000 GB",
    ]  # fmt: skip
    assert as_text(("a", "b"), [("long", "1"), ("x", "100")]).splitlines() == [
        "a       b", "long    1", "x     100",
    ]  # fmt: skip
