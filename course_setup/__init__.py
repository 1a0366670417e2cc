"""What course.py does: the environment, the workbook, JupyterLab and the tests (stdlib only)."""
