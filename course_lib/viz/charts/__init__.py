"""Charts of numbers: losses, seconds, bytes, maps of a surface, spans of time, who waits."""
