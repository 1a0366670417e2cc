# class: A2
# hint: library-answer


def sgd_epoch(w, order, X, y, batch_size, learning_rate):
    from course_lib.models.linear_regression import LinearRegression

    model = LinearRegression(X.shape[1])
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        w = w - learning_rate * model.gradient(w, (X[rows], y[rows]))[1]
    return w
