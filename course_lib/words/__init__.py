"""Numbers in words: units, tables, and what an argument that is no such number is told.

It imports no other part, and every part may import it. Everywhere 1 KB is 1,000 bytes; 1,024 are
1 KiB.
"""
