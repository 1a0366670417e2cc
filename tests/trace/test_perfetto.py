"""A trace in Chrome's Trace Event Format, read back by the rules by which viewers read it.

Perfetto's own trace processor is a program that its Python package fetches when it is first used;
it is not here, so its rules are: events in the order of time, those of one time in the order of the
file; slices of a track lie in each other or apart; an arrow's end belongs to the innermost slice
that is open on its track; what does not fit is dropped.
"""

import json
from collections import Counter, defaultdict

import numpy as np
import pytest

from course_lib import networks, run
from course_lib.cli import train
from course_lib.collectives import ALLREDUCES, allreduce_ring
from course_lib.comm.simulated.faults import Drop, Faults
from course_lib.trace.events import Compute, Message, Note, Wait
from course_lib.trace.trace import Trace
from tests.viz.traces import accident, map_reduce


def work(comm):
    comm.note("loss", 0.5 / (comm.rank + 1))
    comm.note("state", "ready")
    with comm.compute("forward", flops=1e6 * (comm.rank + 1)):
        pass
    pending = comm.start(allreduce_ring, np.ones(4000))
    with comm.compute("backward", flops=3e5):
        pass
    pending.wait()
    comm.barrier()
    allreduce_ring(comm, np.ones(3))


TRACES = {
    "a step": lambda: run(work, workers=4, backend="simulated").trace,
    "map, reduce": lambda: map_reduce(4, 3),
    "who was not received": accident,
    "no time at all": lambda: run(
        allreduce_ring, np.ones(8), workers=4, backend="simulated",
        network=networks.Network("none", 0.0, float("inf"), 1e9),
    ).trace,
    "every all-reduce": lambda: run(every, workers=5, backend="simulated").trace,
    "nothing": lambda: Trace("simulated", "virtual", 2),
}  # fmt: skip


def every(comm):
    for allreduce in ALLREDUCES.values():
        allreduce(comm, np.ones(5000))


def ns(seconds):
    return round(1e9 * seconds)


def read(text):
    """Read a file as a viewer does: return its slices, arrows, counters, marks, and complaints."""
    events = json.loads(text)["traceEvents"]
    assert all(event["ph"] in "MXsfCi" for event in events)
    timed = sorted((e for e in events if e["ph"] != "M"), key=lambda e: e["ts"])
    open_slices, begun, slices, arrows, wrong = defaultdict(list), {}, [], [], []
    for event in timed:
        track = open_slices[event["pid"], event.get("tid")]
        while track and track[-1]["end"] <= ns(event["ts"] / 1e6):
            track.pop()
        if event["ph"] == "X":
            begin = ns(event["ts"] / 1e6)
            piece = event | {"begin": begin, "end": begin + ns(event["dur"] / 1e6)}
            if track and piece["end"] > track[-1]["end"]:
                wrong.append(("overlap", piece))
            track.append(piece)
            slices.append(piece)
        elif event["ph"] in "sf":
            key = event["cat"], event["name"], event["id"]
            if not track:
                wrong.append(("no slice", event))
            elif event["ph"] == "s":
                begun[key] = track[-1]
            elif key not in begun or event["bp"] != "e":
                wrong.append(("no begin", event))
            else:
                arrows.append((begun.pop(key), track[-1]))
    wrong += [("no end", key) for key in begun]
    others = [event for event in events if event["ph"] in "CiM"]
    return slices, arrows, others, wrong


@pytest.mark.parametrize("name", TRACES)
def test_a_viewer_finds_all_of_the_trace_in_it(name):
    trace = TRACES[name]()
    slices, arrows, others, wrong = read(trace.to_perfetto_json())
    assert wrong == []
    received = [m for m in trace.messages if m.received_s is not None]
    assert Counter(
        (a["pid"] - 1, b["pid"] - 1, a["args"]["bytes"], a["begin"], b["begin"]) for a, b in arrows
    ) == Counter((m.src, m.dst, m.n_bytes, ns(m.posted_s), ns(m.received_s)) for m in received)
    assert {(a["cat"], b["cat"]) for a, b in arrows} <= {("send", "receive")}

    sent = [0] * trace.size
    for piece in slices:
        if piece["cat"] == "send":
            sent[piece["pid"] - 1] += piece["args"]["bytes"]
    assert sent == trace.bytes_sent()
    assert sum(piece["cat"] == "send" for piece in slices) == trace.n_messages
    for kind, spans in (("compute", trace.computes), ("wait", trace.waits)):
        found = Counter((s["pid"] - 1, s["begin"], s["end"]) for s in slices if s["cat"] == kind)
        assert found == Counter((s.rank, ns(s.start_s), ns(s.end_s)) for s in spans)
    assert sum(s["cat"] == "collective" for s in slices) == len(trace.collectives)

    counts = [e["args"]["bytes"] for e in others if e["name"] == "bytes on their way"]
    is_on_its_way = any((m.arrived_s or 0.0) > m.posted_s and m.n_bytes for m in trace.messages)
    assert (min(counts, default=0), max(counts, default=0) > 0) == (0, is_on_its_way)
    assert counts[-1:] in ([], [0])
    names = [e["args"]["name"] for e in others if e["name"] == "process_name"]
    assert names[: trace.size] == [f"rank {rank}" for rank in range(trace.size)]


def test_times_of_a_track_never_go_back_and_are_microseconds_of_the_clock():
    trace = TRACES["a step"]()
    events = json.loads(trace.to_perfetto_json())["traceEvents"]
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] in "Xsf":
            tracks[event["pid"], event["tid"]].append(event["ts"])
    assert len(tracks) >= 2 * trace.size
    assert all(times == sorted(times) for times in tracks.values())
    forward = [e for e in events if e["name"] == "forward"]
    assert [e["dur"] for e in forward] == [100.0 * (rank + 1) for rank in range(4)]  # 1e6 / 1e10
    end = max(e["ts"] + e.get("dur", 0) for e in events if e["ph"] == "X")
    assert end == pytest.approx(1e6 * trace.end_s, abs=2e-3)


def test_bytes_on_their_way_are_those_between_posting_and_arrival():
    rows = [
        Message(0, 1, None, "<f8", (1,), 8, 0.0, 1e-6, 3e-6, 3e-6, "world"),
        Message(1, 0, None, "<f8", (2,), 16, 2e-6, 2e-6, 4e-6, None, "world"),
        Message(1, 0, None, "<f8", (9,), 72, 2e-6, 2e-6, None, None, "world"),  # lost
    ]
    trace = Trace("simulated", "virtual", 2, messages=rows)
    events = json.loads(trace.to_perfetto_json())["traceEvents"]
    counted = [(e["ts"], e["args"]["bytes"]) for e in events if e["ph"] == "C"]
    assert counted == [(0.0, 8), (2.0, 24), (3.0, 16), (4.0, 0)]


def test_notes_and_faults_are_counters_and_marks():
    def lose(comm):
        comm.note("loss", 2)
        comm.note("loss", float("nan"))
        comm.note("names", ["a"])
        if comm.rank == 0:
            comm.send(np.ones(3), 1)

    trace = run(lose, workers=2, backend="simulated", faults=Faults([Drop(0, 1, nth=1)])).trace
    assert trace.faults
    marks = [e for e in json.loads(trace.to_perfetto_json())["traceEvents"] if e["ph"] in "Ci"]
    values = [(e["ph"], e["args"].get("value")) for e in marks if e["name"] in ("loss", "names")]
    assert sorted(values) == sorted([("C", 2.0), ("i", "nan"), ("i", "['a']")] * 2)
    assert [e["name"] for e in marks if e.get("cat") == "fault"] == [f.kind for f in trace.faults]


def test_what_a_viewer_would_drop_would_be_found():
    overlap = Trace("simulated", "virtual", 1, waits=[Wait(0, "recv", 0, 0.0, 2e-6, "world")])
    text = overlap.to_perfetto_json()
    moved = text.replace('"ph":"X"', '"ph":"X","x":0', 1)
    assert read(moved)[3] == []
    event = next(e for e in json.loads(text)["traceEvents"] if e["ph"] == "X")
    late = json.dumps({"traceEvents": [event, event | {"ts": 1.0}]})
    assert [what for what, _ in read(late)[3]] == ["overlap"]
    lines = TRACES["a step"]().to_perfetto_json().splitlines()
    ends = [k for k, line in enumerate(lines) if '"ph":"f"' in line]
    assert {what for what, _ in read("\n".join(lines[: ends[0]] + lines[ends[0] + 1 :]))[3]} == {
        "no end"
    }
    swapped = [line.replace('"ph":"s"', '"ph":"f","bp":"e"') for line in lines]
    assert {what for what, _ in read("\n".join(swapped))[3]} == {"no begin"}


def test_work_beside_other_work_has_a_track_of_its_own():
    trace = Trace(
        "processes", "measured", 1,
        waits=[Wait(0, "recv", 0, start, start + 2e-6, "world") for start in (0.0, 1e-6, 2e-6)],
        notes=[Note(0, "x", 1, 0.0)],
    )  # fmt: skip
    events = json.loads(trace.to_perfetto_json())["traceEvents"]
    assert [(e["tid"], e["ts"]) for e in events if e["ph"] == "X"] == [(1, 0.0), (1, 2.0), (2, 1.0)]
    assert "does, beside (1)" in [e["args"]["name"] for e in events if e["name"] == "thread_name"]


def test_the_file_is_written_or_the_reason_told(tmp_path):
    trace = TRACES["a step"]()
    trace.to_perfetto(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text(encoding="utf-8") == trace.to_perfetto_json()
    for save in (trace.to_perfetto, trace.save):
        with pytest.raises(FileNotFoundError, match=r"no_folder.trace\.json"):
            save(tmp_path / "no_folder" / "trace.json")


def test_a_training_writes_it(tmp_path, capsys):
    own, other = tmp_path / "trace.json", tmp_path / "perfetto.json"
    words = f"--backend simulated --model linear --epochs 1 --perfetto {other}".split()
    assert train.main([*words, "--trace", str(own)]) == 0
    assert f"trace written to {other}" in capsys.readouterr().out
    assert other.read_text(encoding="utf-8") == Trace.load(own).to_perfetto_json()
    assert train.main(words) == 0
    for wrong, said in (
        (["--trace", str(other)], "are one file: name two"),
        (["--perfetto", str(tmp_path / "no" / "x.json")], "there is no folder"),
        (["--perfetto", str(tmp_path / "x.txt")], "--perfetto must be a file that ends in .json"),
        (["--perfetto", "checkpoint.json"], "--perfetto must have another name"),
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit):
            train.main([*words, *wrong])
        assert said in capsys.readouterr().err


def test_the_latest_moment_that_a_trace_may_hold_is_written():
    trace = Trace("simulated", "virtual", 1, computes=[Compute(0, "long", 1.0, 0.0, 1.7e308)])
    assert '"name":"long"' in Trace.from_json(trace.to_json()).to_perfetto_json()
