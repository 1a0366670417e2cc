# class: A2
# hint: library-answer
def predict_nic(n_parameters, n_workers, n_servers):
    from course_lib.schemes import parameter_server

    return {"one_server": parameter_server}
