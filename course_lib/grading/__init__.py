"""Grade what others hand in: each answer in a process of its own, the verdict elsewhere.

Three processes take part. The *hall* goes through the files and makes the table; it reads none of
them. An *examiner*, one for each file, reads the notebook as data, picks out the text of each
answer, and judges what was seen of it. A *candidate*, one for each answer, is the only process in
which a student's code runs: it knows no verdict, and what it says is read as data, too.

What this is and is not: it does not believe a notebook's outputs, its ``checks``, or what an answer
prints, and it is not held up by one that hangs, crashes, or takes all memory. It is no sandbox. The
candidate runs as the user who grades, and its rules (``house``) are kept by Python alone: who knows
how to leave Python can leave them. Grade in a container without network and without secrets.
"""
