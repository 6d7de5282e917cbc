import os

import support

support.start()
support.python2.install(os.getcwd(), python2=True)
import network3  # noqa: E402
from network3 import ConvPoolLayer, FullyConnectedLayer, Network, ReLU, SoftmaxLayer  # noqa: E402

training, validation, test = network3.load_data_shared(os.path.join(os.environ["PROGRAMS_DATA"], "mnist.pkl.gz"))
net = Network(
    [
        ConvPoolLayer(image_shape=(10, 1, 28, 28), filter_shape=(20, 1, 5, 5), poolsize=(2, 2), activation_fn=ReLU),
        FullyConnectedLayer(n_in=20 * 12 * 12, n_out=100, activation_fn=ReLU, p_dropout=0.1),
        SoftmaxLayer(n_in=100, n_out=10),
    ],
    10,
)
net.SGD(training, 1, 10, 0.03, validation, test, lmbda=0.1)
