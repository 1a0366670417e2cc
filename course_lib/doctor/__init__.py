"""Say whether this computer can run the course, what is wrong, and how to fix it.

``python -m course_lib doctor`` prints the report; in a notebook, ``doctor.examine()`` shows it.
``system`` looks at the computer, ``packages`` at what is installed.
"""

from course_lib.doctor.examination import examine
from course_lib.doctor.report import Finding, Report

__all__ = ["Finding", "Report", "examine"]
