"""How workers talk: the only place that knows a transport."""
