"""What starts the workers, watches them, ends them and says what went wrong."""
