"""The hosted workflows can read the code, with actions that cannot change; one job may publish."""

import re

import yaml

from tests.tooling.planting import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))


def test_actions_are_pinned_by_commit():
    uses = [line for file in WORKFLOWS for line in re.findall(r"uses: *(.+)", file.read_text())]
    assert uses
    for action in uses:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v[\d.]+", action), action


PUBLISHING = {"pages": "write", "id-token": "write"}
"""What GitHub Pages asks of the job that hands the site over; it runs no code of ours."""


def test_workflows_may_only_read_and_always_end():
    publishing = []
    for file in WORKFLOWS:
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            if "permissions" in job:
                publishing.append((file.name, name))
                assert job["permissions"] == PUBLISHING
                assert [step["uses"].partition("@")[0] for step in job["steps"]] == [
                    "actions/deploy-pages"
                ]
                assert "github.event_name != 'pull_request'" in job["if"]
                assert "github.ref == 'refs/heads/main'" in job["if"]
            assert job["timeout-minutes"] <= 60
            checkouts = [s for s in job["steps"] if "actions/checkout" in s.get("uses", "")]
            assert all(step["with"]["persist-credentials"] is False for step in checkouts)

    assert publishing == [("site.yml", "deploy")]


def test_every_part_of_make_browser_runs_hosted_and_what_is_seen_is_kept():
    (file,) = (file for file in WORKFLOWS if file.name == "site.yml")
    workflow = yaml.safe_load(file.read_text())
    job = workflow["jobs"]["browser"]
    parts = {f"test_{part}.py" for part in job["strategy"]["matrix"]["part"]}
    tests = (REPOSITORY / "tests" / "viz").glob("test_*.py")
    marked = {path.name for path in tests if "mark.every_lecture" in path.read_text("utf-8")}
    assert parts == marked
    assert "COURSE_SCREENSHOTS" in job["env"]
    (upload,) = (s for s in job["steps"] if "upload-artifact" in s.get("uses", ""))
    assert upload["if"] == "always()"
    assert workflow["jobs"]["deploy"]["needs"] == ["browser", "build"]


def test_the_three_systems_run_the_readmes_test_command():
    (file,) = (file for file in WORKFLOWS if file.name == "ci.yml")
    job = yaml.safe_load(file.read_text())["jobs"]["test"]
    systems = " ".join(job["strategy"]["matrix"]["os"])
    assert all(name in systems for name in ("ubuntu", "macos", "windows"))
    assert "python course.py test" in [step.get("run") for step in job["steps"]]
    assert "python course.py test" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert "python course.py test" in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")


def test_where_mpi_can_be_had_its_tests_run_too():
    (file,) = (file for file in WORKFLOWS if file.name == "ci.yml")
    last = yaml.safe_load(file.read_text())["jobs"]["test"]["steps"][-1]
    assert last["run"].split() == [
        *(".venv/bin/python", "-m", "pip", "install", "mpi4py", "mpich"),
        *("python", "course.py", "test", "tests/mpi_backend"),
    ]
