"""The MLP of Theano's tutorials at its real size: 1,000 rows of 1,000 inputs, two hidden layers of 1,000, a softmax of
10.

The weights are not scaled, so logits of 50,000 occur: with a naive formula the first loss is infinite, here it is
22547.56. The labels are noise, so the accuracy on the rows held out stays near 0.1.

    THEANO_FLAGS=floatX=float32 python -m croton.theano mlp_theano.py [EPOCHS]    (100)
"""

import sys
import time

import numpy as np
import theano
import theano.tensor as T

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
np.random.seed(0)
X = np.random.randn(1000, 1000)
y_all = np.random.randint(0, 10, 1000)
X_train, X_test, y_train, y_test = X[:800], X[800:], y_all[:800], y_all[800:]

x = T.matrix("x")
y = T.ivector("y")
w1 = theano.shared(np.random.randn(1000, 1000).astype("float32"), name="w1")
w2 = theano.shared(np.random.randn(1000, 1000).astype("float32"), name="w2")
w3 = theano.shared(np.random.randn(1000, 10).astype("float32"), name="w3")

h1 = T.nnet.relu(T.dot(x, w1))
h2 = T.nnet.relu(T.dot(h1, w2))
y_pred = T.nnet.softmax(T.dot(h2, w3))
loss = T.mean(T.nnet.categorical_crossentropy(y_pred, y))
g1, g2, g3 = T.grad(loss, [w1, w2, w3])

train = theano.function(inputs=[x, y], outputs=loss, updates=[(w1, w1 - 0.1 * g1), (w2, w2 - 0.1 * g2), (w3, w3 - 0.1 * g3)],
                        allow_input_downcast=True)
predict = theano.function([x], y_pred, allow_input_downcast=True)

begin = time.time()
for epoch in range(epochs):
    value = train(X_train, y_train)
    print("epoch %d: loss %.2f" % (epoch + 1, value))
print("seconds per epoch:", round((time.time() - begin) / epochs, 4), file=sys.stderr)
print("accuracy on the 200 rows held out: %.3f" % np.mean(np.argmax(predict(X_test), axis=1) == y_test))
