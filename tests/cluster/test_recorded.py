"""The run that is kept: large arrays took what the simulator says, within a fifth."""

from cluster.report import far_off, lines_of, load


def test_what_was_measured_is_what_was_predicted():
    found = load()
    assert far_off(found) == []
    found["allreduces"][-1]["seconds"] = [2 * found["allreduces"][-1]["predicted_s"]]
    assert len(far_off(found)) == 1


def test_each_host_that_is_left_has_named_the_lost_one_within_seconds():
    found = load()
    text = "\n".join(lines_of(found))
    assert "cores (" in text
    assert "hierarchical" in text
    hosts = {row["hosts"] for row in found["allreduces"] if row["each"] == 1}
    assert [lost["how"] for lost in found["lost"]] == ["killed", "unplugged"]
    for lost in found["lost"]:
        assert {told["host"] for told in lost["told"]} == set(range(*hosts)) - {lost["lost"]}
        for told in lost["told"]:
            assert f"rank {lost['lost']} " in told["said"]
            assert told["seconds"] < 10
            assert told["said"] in text
