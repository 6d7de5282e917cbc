"""Model parallel training, as in Keras's guide: one LSTM reads two texts, each on its own device; both encodings are
joined on the CPU, which decides whether the texts are by the same writer. The layer has one set of weights, stored
where it was made: each step sends them to the other device, and the gradient of its text back, where both are added up.
Exits with 0 if two devices give the same results as one, and the network has learnt.

Usage: shared_lstm.py [FIRST SECOND [HOST]]    (cpu1 cpu2 cpu)
"""

import sys

import numpy as np

import croton
import croton.tensor as T
import device_names
from croton import nn

TEXTS, LENGTH, CHARACTERS, STEPS = 16, 140, 256, 15


def make_texts():
    """Texts of two writers, as rows of 140 characters of 256 (one of each row is 1): one writer uses the first half of
    the alphabet more, the other one the second half. (a, b, whether both are by the same writer)."""
    writers = np.array([[i % 2, i // 2 % 2] for i in range(TEXTS)])
    letters = np.random.default_rng(3).integers(0, 127, (2, TEXTS, LENGTH)) + 128 * writers.T[:, :, None]
    a, b = np.eye(CHARACTERS, dtype=np.float32)[letters]
    return a, b, (writers[:, :1] == writers[:, 1:]).astype(np.float32)


def build(first, second, host):
    """(weights, encode, train)."""
    nn.set_seed(2)
    with croton.change_flags(device=first):  # the weights are made on this device
        reader, hidden, guess = nn.LSTM(64), nn.Dense(32, "tanh"), nn.Dense(1)
        reader.build((LENGTH, CHARACTERS))
        hidden.build((128,))
        a, b, same = T.tensor3("a"), T.tensor3("b"), T.matrix("same")
        with croton.device_scope(first):
            of_a = reader(a)
            of_a.name = "of a"
        with croton.device_scope(second):
            of_b = reader(b)
            of_b.name = "of b"
        with croton.device_scope(host):
            both = T.concatenate([of_a, of_b], axis=-1)
            both.name = "both"
            loss = nn.BinaryCrossentropy(from_logits=True)(same, guess(hidden(both)))
            loss.name = "loss"
        weights = [w for layer in (reader, hidden, guess) for w in layer.trainable_weights]
        with croton.device_scope(first):  # the updates are made on the device of the weights
            updates = nn.Adam(learning_rate=3e-3).minimize(loss, weights)
            return (weights, croton.function([a, b], both, name="encode"),
                    croton.function([a, b, same], loss, updates=updates, name="train"))


def calls_that_overlap(encode, a, b):
    """The number of calls, of 10, in which the loop of one text began before that of the other one ended."""
    overlap = 0
    with croton.change_flags(device_threads="on"):  # also if one thread would be as fast
        for _ in range(10):
            with croton.Trace() as trace:
                encode(a, b)
            loops = [event for event in trace.events if event.what == "loop"]
            overlap += len(loops) == 2 and loops[1].start < loops[0].end
    return overlap


def main(first="cpu1", second="cpu2", host="cpu"):
    device_names.provide([first, second, host])
    a, b, same_writer = make_texts()
    weights, encode, train = build(first, second, host)
    _, encode_on_one, train_on_one = build(first, first, host)

    print(f"the LSTM has {sum(w.get_value().size for w in weights[:3])} parameters, on {weights[0].home}")
    croton.log_device_placement(sys.stdout)
    encoded = encode(a, b)
    croton.log_device_placement(None)
    print(f"the loops ran at the same time in {calls_that_overlap(encode, a, b)} of 10 calls")
    same = encoded.tobytes() == encode_on_one(a, b).tobytes()
    print(f"encodings of {encoded.shape[0]} x {encoded.shape[1]} numbers:",
          "the same bits" if same else "OTHER bits", "as on one device\n")

    losses, apart = [], 0
    for step in range(STEPS):
        losses.append(float(train(a, b, same_writer)))
        apart = max(apart, abs(losses[-1] - float(train_on_one(a, b, same_writer))))
        if step % 5 == 4:
            print(f"step {step + 1}  loss {losses[-1]:.4f}")
    print("a step sends")
    for sent in train.transfers():
        print(f"  {sent.what}: {sent.source} -> {sent.target}, {sent.bytes} bytes")
    print(f"the weights are on {weights[0].home}; losses on one device",
          "are the same" if apart < 1e-4 else "DIFFER", "within 1e-4")
    return 0 if same and apart < 1e-4 and losses[-1] < losses[0] / 2 else 1


if __name__ == "__main__":
    if len(sys.argv) == 2 or len(sys.argv) > 4:
        sys.exit("usage: shared_lstm.py [FIRST SECOND [HOST]]")
    sys.exit(main(*sys.argv[1:]))
