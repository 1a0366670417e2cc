# class: A2
# hint: library-answer


def gradient_step(w, X, y, learning_rate):
    from course_lib.models.linear_regression import LinearRegression

    return w - learning_rate * LinearRegression(X.shape[1]).gradient(w, (X, y))[1]
