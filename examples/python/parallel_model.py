"""Keras's multi_gpu_model: a parallel model shares the weights of its template, splits each batch into one part per
device, and joins the results on the CPU, in order. Training the parallel model changes the weights of the template, and
both are saved as the same file. Exits with 0 if this is true.

Usage: parallel_model.py [DEVICE ...]    (cpu0 ... cpu7)
"""

import pathlib
import sys
import tempfile

import numpy as np

import device_names
import digits_split
from croton import nn

BATCH, EPOCHS = 256, 20


def main(*devices):
    device_names.provide(devices)
    train_x, train_y, test_x, _ = digits_split.load(28)
    nn.set_seed(1)
    model = nn.Sequential([nn.Dense(128, "relu", input_shape=(784,)), nn.Dense(10, "softmax")])
    before = model.predict(test_x)

    parallel = nn.multi_gpu_model(model, gpus=devices)
    # Products of 4 rows may be added up in another order than those of 32.
    alike = np.allclose(parallel.predict(test_x), before, rtol=1e-4, atol=1e-6)
    print(f"On {len(devices)} devices the parallel model predicts",
          "the same, in the same order" if alike else "SOMETHING ELSE")
    parallel.compile(loss="categorical_crossentropy", optimizer="rmsprop", metrics=["accuracy"])
    rows_with_a_one = np.eye(10, dtype=np.float32)[train_y]
    history = parallel.fit(train_x, rows_with_a_one, epochs=EPOCHS, batch_size=BATCH, verbose=0).history
    print(f"history: {len(history['loss'])} epochs;",
          " - ".join(f"{name}: {values[-1]:.4f}" for name, values in history.items()))
    # These are for the last batch of an epoch, which is smaller than the others.
    for sent in parallel.train_function.transfers():
        if sent.kind == "input" and sent.what.startswith("input"):
            print(f"  {sent.bytes // (784 * 4)} rows to {sent.target}")

    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("parallel.safetensors", "template.safetensors")]
        for which, file in zip((parallel, model), files):
            which.save_weights(file)
        same = files[0].read_bytes() == files[1].read_bytes()
    print(f"Saved, both are {'the same file' if same else 'OTHER files'}")
    learnt = not np.array_equal(model.predict(test_x), before)
    return 0 if alike and same and learnt and history["accuracy"][-1] > 0.9 else 1


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [f"cpu{i}" for i in range(8)])))
