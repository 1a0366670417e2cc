"""The run that is kept: large arrays took what the simulator says, within a fifth."""

from cluster.report import far_off, lines_of, load


def test_what_was_measured_is_what_was_predicted():
    found = load()
    assert far_off(found) == []
    found["allreduces"][-1]["seconds"] = [2 * found["allreduces"][-1]["predicted_s"]]
    assert len(far_off(found)) == 1


def test_the_run_is_told_with_its_machine_and_the_lost_host():
    text = "\n".join(lines_of(load()))
    assert "cores (" in text
    assert "hierarchical" in text
    assert "rank 1" in text
