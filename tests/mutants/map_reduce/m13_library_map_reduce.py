# class: A2
# hint: library-answer
from course_lib.schemes.map_reduce import map_reduce  # noqa: F401
