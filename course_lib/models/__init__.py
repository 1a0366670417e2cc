"""The mathematics of the models, without communication."""
