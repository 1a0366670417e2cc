# class: A2
# hint: library-answer
from course_lib.models.linear_regression import LinearRegression


def partial_sums(w, X_local, y_local):
    return LinearRegression(len(w) - 1).gradient_sum(w, (X_local, y_local))[1]
