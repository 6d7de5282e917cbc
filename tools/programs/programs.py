"""The public programs that Croton runs unmodified, how they are started, and their results.

SOURCES has the origins of the programs; they are fetched for a run and never kept with Croton. A program has:

- `source` and `folder`: the files that are copied into its working directory;
- `driver`: the file of drivers/ that is started, with `arguments`; most call the program's own functions with fewer
  epochs, some end it after a number of lines; none changes a line of it;
- `data`: its data, which data.py makes; `flags`: its THEANO_FLAGS; `environment`; `limit` in seconds;
- `results`: name, regular expression with one group, Theano 1.0.5's value and the relative tolerance. The last match in
  the output counts. A tolerance of None requires the same text. `range` instead of a value is the range of right values;
- `seconds`: the time of Theano 1.0.5 with g++ for the whole program (warm: with its compiled modules of an earlier run).
"""

SOURCES = {
    "DeepLearningTutorials": ("lisa-lab/DeepLearningTutorials", "11c465105026cf87573937fc2d35ab7543678698"),
    "Theano-Tutorials": ("Newmu/Theano-Tutorials", "49de4c52f45ab7b05cea3dbad039270f816be70c"),
    "neural-networks-and-deep-learning": (
        "mnielsen/neural-networks-and-deep-learning",
        "72db53d750f571bef8804de4a52224e44dcab3a1",
    ),
    "rnn-tutorial-gru-lstm": ("dennybritz/rnn-tutorial-gru-lstm", "444ec93a01d0c9b9de8fc356151aa1014ad571f6"),
    "Deep-Learning-with-Theano": ("PacktPublishing/Deep-Learning-with-Theano", "94a0acce79a5324d5522e866e9f4fe40acb8ce6f"),
    "Generative-Adversarial-Network-Demo": (
        "llSourcell/Generative-Adversarial-Network-Demo",
        "244391f22e1f4435dc56ce6f9be1049df8137aae",
    ),
}


def _program(name, source, folder, driver, results, arguments=(), data=(), flags="", environment=None, limit=600, seconds=None):
    return {
        "name": name, "source": source, "folder": folder, "driver": driver, "results": results, "arguments": list(arguments),
        "data": list(data), "flags": flags, "environment": environment or {}, "limit": limit, "seconds": seconds,
    }


_NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"
_TUTORIALS = ("DeepLearningTutorials", "code")
_NEWMU = ("Theano-Tutorials", ".")

PROGRAMS = [
    _program(
        "logistic_sgd", *_TUTORIALS, "logistic_sgd", data=["mnist_pickle"],
        results=[
            ("validation error, %", "best validation score of " + _NUMBER + " %", 8.6, 0.0),
            ("test error, %", "with test performance " + _NUMBER + " %", 9.4, 0.0),
            ("epochs", r"run for (\d+) epochs", 126, 0.0),
        ],
    ),
    _program(
        "mlp", *_TUTORIALS, "mlp", data=["mnist_pickle"],
        results=[
            ("validation error, %", "validation error " + _NUMBER + " %", 20.4, 0.0),
            ("test error, %", "best model " + _NUMBER + " %", 22.8, 0.0),
        ],
    ),
    _program(
        "rbm", *_TUTORIALS, "rbm", data=["mnist_pickle"],
        results=[("pseudo-likelihood, epoch 0", r"epoch 0, cost is\s+" + _NUMBER, -68.70164243337125, 1e-4)],
    ),
    _program(
        "DBN", *_TUTORIALS, "DBN", data=["mnist_pickle"],
        results=[
            ("cost, layer 0", r"layer 0, epoch 0, cost\s+" + _NUMBER, -143.80873432040215, 1e-4),
            ("cost, layer 1", r"layer 1, epoch 0, cost\s+" + _NUMBER, -532.2618469927367, 1e-4),
            ("cost, layer 2", r"layer 2, epoch 0, cost\s+" + _NUMBER, -101.51046884961663, 1e-4),
            ("validation error, %", "validation error " + _NUMBER + " %", 21.2, 0.0),
        ],
    ),
    _program(
        "rnnrbm", *_TUTORIALS, "rnnrbm", data=["music"],
        results=[
            ("cost, epoch 1", r"Epoch 1/3\n" + _NUMBER, -59.89397162845746, 1e-4),
            ("cost, epoch 3", r"Epoch 3/3\n" + _NUMBER, -54.80591570864689, 1e-4),
            ("generated", r"Generated (.*)", "200 steps of 88 notes, all 0 or 1: True", None),
        ],
    ),
    _program(
        "rnnslu", *_TUTORIALS, "rnnslu", data=["flights"],
        results=[
            ("valid F1", r"BEST RESULT: epoch \d+ valid F1 " + _NUMBER, 56.47, 0.0),
            ("test F1", r"BEST RESULT: epoch \d+ valid F1 \S+ best test F1 " + _NUMBER, 62.79, 0.0),
        ],
    ),
    _program(
        "newmu_0_multiply", *_NEWMU, "script", arguments=["0_multiply.py"],
        results=[("products", r"(?s)(.*\n.*)\n", "2.0 9.0", None)],
    ),
    _program(
        "newmu_1_linear_regression", *_NEWMU, "script", arguments=["1_linear_regression.py"],
        results=[("slope", _NUMBER + r"\s*$", 2.0462513335623633, 1e-6)],
    ),
    _program(
        "newmu_2_logistic_regression", *_NEWMU, "newmu_2", data=["mnist_idx"],
        results=[("accuracy, epoch 4", r"4 " + _NUMBER, 0.883, 0.0)],
    ),
    _program(
        "newmu_3_net", *_NEWMU, "newmu_3", data=["mnist_idx"],
        results=[("accuracy, epoch 4", _NUMBER + r"\s*$", 0.731, 0.0)],
    ),
    _program(
        "newmu_4_modern_net", *_NEWMU, "newmu_4", data=["mnist_idx"],
        results=[("accuracy, epoch 1", _NUMBER + r"\s*$", 0.87, 0.01)],
    ),
    _program(
        "newmu_5_convolutional_net", *_NEWMU, "newmu_5", data=["mnist_idx"], flags="floatX=float32",
        results=[("accuracy, epoch 1", _NUMBER + r"\s*$", None, 0.05)],
    ),
    _program(
        "network3", "neural-networks-and-deep-learning", "src", "network3", data=["mnist_pickle"],
        results=[
            ("validation accuracy, %", "Epoch 0: validation accuracy " + _NUMBER + "%", 88.8, 0.02),
            ("test accuracy, %", "Corresponding test accuracy of " + _NUMBER + "%", 87.2, 0.02),
        ],
    ),
    _program(
        "gru", "rnn-tutorial-gru-lstm", ".", "gru", data=["comments"],
        environment={
            "INPUT_DATA_FILE": "{data}/comments.csv", "VOCABULARY_SIZE": "36", "HIDDEN_DIM": "32", "NEPOCH": "2",
            "PRINT_EVERY": "100", "MODEL_OUTPUT_FILE": "model",
        },
        results=[("loss after 400 sentences", "Loss: " + _NUMBER, 2.490592, 1e-5)],
    ),
    _program(
        "packt_gru", "Deep-Learning-with-Theano", "Chapter04", "packt_rnn", arguments=["gru"], data=["prose"],
        results=[("loss, minibatch 60", r"minibatch 60/80, train loss " + _NUMBER, 3.5125548582534414, 1e-5)],
    ),
    _program(
        "packt_lstm", "Deep-Learning-with-Theano", "Chapter04", "packt_rnn", arguments=["lstm"], data=["prose"],
        results=[("loss, minibatch 60", r"minibatch 60/80, train loss " + _NUMBER, 3.534145865966449, 1e-5)],
    ),
    _program(
        "gan", "Generative-Adversarial-Network-Demo", ".", "gan", flags="floatX=float32",
        results=[
            ("generator's cost", r"Costs " + _NUMBER, 1.496316, 1e-2),
            ("discriminator's cost", r"Costs \S+ " + _NUMBER, 0.761626, 1e-2),
        ],
    ),
]
