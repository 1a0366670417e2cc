"""What the commands of ``python -m course_lib`` share: options, tables, progress."""
