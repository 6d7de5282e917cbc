import support

support.start()
from logistic_sgd import sgd_optimization_mnist  # noqa: E402

# With its default of 600 per batch, the 500 digits would have no batch for validation.
sgd_optimization_mnist(batch_size=100)
