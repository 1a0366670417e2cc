"""The checks of exercise set 13: where nodes are placed, what they send, when all is done."""
