"""A convolutional network is trained on several devices by `fit`: because it is made in the scope of a strategy, no
other line differs from training on one device. Its three layers are those of the tutorials, except for windows of 15 x
15: those of 3 x 3 (650 parameters, `mirrored_cnn.py 3`) see only edges of these digits and learn almost nothing. Exits
with 0 if the copies on all devices have the same bits, and it reads at least 90 of 100 held-out digits.

Usage: mirrored_cnn.py [WINDOW [DEVICE ...]]    (15 cpu0 cpu1)
"""

import sys

import device_names
import digits_split
from croton import nn

SIDE, EPOCHS, BATCH = 28, 12, 64


def as_text(logs):
    return " - ".join(f"{name}: {value:.4f}" for name, value in logs.items())


class Report(nn.Callback):
    """A callback that records numbers of the training."""

    def on_epoch_end(self, epoch, logs):
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}  {as_text(logs)}")


def main(window, *devices):
    device_names.provide(devices)
    train_x, train_y, test_x, test_y = digits_split.load(SIDE)
    train_x, test_x = (rows.reshape(-1, SIDE, SIDE, 1) for rows in (train_x, test_x))

    strategy = nn.MirroredStrategy(devices)
    with strategy.scope():
        nn.set_seed(1)
        model = nn.Sequential([nn.Conv2D(32, window, activation="relu", input_shape=(SIDE, SIDE, 1)),
                               nn.GlobalMaxPooling2D(), nn.Dense(10)])
        model.summary()
        model.compile(loss=nn.SparseCategoricalCrossentropy(from_logits=True), optimizer=nn.Adam(learning_rate=5e-3),
                      metrics=[nn.SparseCategoricalAccuracy()])
        # Any iterable of pairs (x, y) is a data set; the last batch is smaller, and is weighted by its rows.
        batches = nn.Dataset.from_arrays(train_x, train_y, batch_size=BATCH, shuffle=True)
        history = model.fit(batches, epochs=EPOCHS, verbose=0, callbacks=[Report()]).history

    losses = history["loss"]
    print(f"history: {len(losses)} epochs of {len(batches)} steps; the loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    print("The last step sent")
    for sent in model.train_function.transfers():
        print(f"  {sent.what}: {sent.source} -> {sent.target}, {sent.bytes} bytes")
    agree = all(copy.get_value().tobytes() == w.get_value().tobytes() for w in model.weights for copy in w.copies)
    logs = model.evaluate(test_x, test_y, return_dict=True)
    print(f"The copies on {len(strategy.devices)} devices:", "the same bits" if agree else "DIFFER")
    print("Of the digits held out:", as_text(logs))
    return 0 if agree and logs["sparse_categorical_accuracy"] >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 15, *(sys.argv[2:] or ["cpu0", "cpu1"])))
