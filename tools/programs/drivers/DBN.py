import support

support.start()
from DBN import test_DBN  # noqa: E402

test_DBN(pretraining_epochs=1, training_epochs=1)
