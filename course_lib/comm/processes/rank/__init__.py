"""What a rank is made of: its communicators, the flows of what it has started, its progress."""
