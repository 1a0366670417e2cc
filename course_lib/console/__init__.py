"""What commands are made of: ``options``, ``outputs``, ``progress``, and ``files`` they write.

It knows no command: ``cli`` has these, and what a command runs may use this too.
"""
