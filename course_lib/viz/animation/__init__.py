"""The player: from a trace to a scene, and from a scene to a widget or a page that moves."""
