"""Data parallel training in detail, in the seven steps of TensorFlow's tutorials: each device has a copy of the model
and trains with its part of every batch; gradients are added up, and all copies make the same step. At the end the
copies are compared with each other, and with training with the same parts on one device: the bits must be the same.
Exits with 0 if they are, and it reads at least 95 of 100 held-out digits.

Usage: mirrored_mlp.py [DEVICE ...]    (cpu0 cpu1)
"""

# 1. Imports.
import sys

import numpy as np

import croton
import croton.tensor as T
import device_names
import digits_split
from croton import nn

SIDE, BATCH, EPOCHS = 28, 64, 6


def same_bits(a, b):
    return a.tobytes() == b.tobytes()


def train(strategy, train_x, train_y, test_x, test_y):
    """(weights, losses of all epochs, whether the copies agree, accuracy)."""
    # 2. The model, made in the scope of the strategy: each parameter gets a copy on each device.
    with strategy.scope():
        nn.set_seed(1)
        model = nn.Sequential([nn.Dense(128, "relu", input_shape=(SIDE * SIDE,)), nn.Dense(10, "softmax")])
        # 3. The loss, for each sample separately: it is divided by the size of the whole batch, not of a part.
        loss_of = nn.SparseCategoricalCrossentropy(reduction="none")
        # 4. The optimizer.
        adam = nn.Adam(learning_rate=2e-3)

        # 5. The work of one device, which `run` builds once for each part. 6. In it the optimizer gets the gradients'
        # sum over all parts, and 7. updates the copy of each device.
        def step(x, y):
            loss = nn.compute_average_loss(loss_of(y, model(x)), global_batch_size=BATCH)
            adam.apply_gradients(zip(croton.grad(loss, model.trainable_variables), model.trainable_variables))
            return loss

        x, y = T.matrix("x"), T.ivector("y")
        total = strategy.reduce(nn.ReduceOp.SUM, strategy.run(step, (x, y)))
        learn = strategy.function([x, y], total)

        parts = strategy.distribute_dataset(
            nn.Dataset.from_arrays(train_x, train_y, batch_size=BATCH, shuffle=True, drop_remainder=True))
        losses = [np.mean([learn(*batch) for batch in parts], dtype=np.float64) for _ in range(EPOCHS)]
        agree = all(same_bits(copy.get_value(), w.get_value()) for w in model.weights for copy in w.copies)
        right = croton.function([x, y], T.mean(T.eq(T.argmax(model(x), 1), y)))
        return model.get_weights(), losses, agree, float(right(test_x, test_y))


def main(*devices):
    device_names.provide(devices)
    data = digits_split.load(SIDE)
    several = nn.MirroredStrategy(devices)
    print(f"{several.num_replicas_in_sync} replicas:", *several.devices)
    weights, losses, agree, accuracy = train(several, *data)
    for epoch, loss in enumerate(losses, 1):
        print(f"epoch {epoch}  loss {loss:.4f}")
    print(f"accuracy on the digits held out: {accuracy:.4f}")
    print("the copies on all devices:", "the same bits" if agree else "OTHER weights")

    of_one, losses_of_one, _, _ = train(nn.MirroredStrategy(devices[:1], shards=len(devices)), *data)
    same = losses == losses_of_one and all(map(same_bits, weights, of_one))
    print(f"one device with {len(devices)} shards:", "the same bits" if same else "OTHER weights")
    return 0 if agree and same and accuracy >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or ["cpu0", "cpu1"])))
