import support

support.start()
from logistic_sgd import sgd_optimization_mnist  # noqa: E402

# With its own 600 a batch there would be no batch of the 500 digits to validate on.
sgd_optimization_mnist(batch_size=100)
