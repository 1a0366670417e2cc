"""The hosted workflow can read the code and nothing more, with actions that cannot change."""

import re

import yaml

from tests.tooling.planting import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))


def test_actions_are_pinned_by_commit():
    uses = [line for file in WORKFLOWS for line in re.findall(r"uses: *(.+)", file.read_text())]
    assert uses
    for action in uses:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v[\d.]+", action), action


def test_workflows_may_only_read_and_always_end():
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            assert "permissions" not in job
            assert job["timeout-minutes"] <= 60
            checkouts = [s for s in job["steps"] if "actions/checkout" in s.get("uses", "")]
            assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_the_three_systems_run_the_readmes_test_command():
    (file,) = (file for file in WORKFLOWS if file.name == "ci.yml")
    job = yaml.safe_load(file.read_text())["jobs"]["test"]
    systems = " ".join(job["strategy"]["matrix"]["os"])
    assert all(name in systems for name in ("ubuntu", "macos", "windows"))
    assert "python course.py test" in [step.get("run") for step in job["steps"]]
    assert "python course.py test" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert "python course.py test" in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
