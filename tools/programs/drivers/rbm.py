import support

support.start()
from rbm import test_rbm  # noqa: E402

test_rbm(training_epochs=1, n_samples=1)
