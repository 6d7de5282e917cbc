import support

support.start()
from mlp import test_mlp  # noqa: E402

test_mlp(n_epochs=1)
