"""Archives that Croton copies, against NumPy and safetensors; event files, read by TensorBoard's format.

    python3 tests/archives/check.py PROGRAM
"""
import os
import struct
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
    import safetensors
    import safetensors.numpy
except ImportError as missing:
    print(f"NOT RUN: {missing}")
    sys.exit(0)

PROGRAM = os.path.abspath(sys.argv.pop(1))
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (1,), (7,), (0,), (3, 2), (2, 0, 3), (2, 3, 4), (2, 1, 3, 2)]


def run(*arguments, expect=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    assert done.returncode == expect, f"exit status {done.returncode}: {done.stderr}"
    return done.stdout, done.stderr


def arrays(dtypes):
    random = np.random.default_rng(1)
    made = {"\u00e9t\u00e9 \u6570": np.arange(3.0)}
    for dtype in dtypes:
        for i, shape in enumerate(SHAPES):
            made[f"{np.dtype(dtype).name}.{i}"] = np.asarray(random.normal(size=shape) * 100).astype(dtype)
    return made


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: value} of a protocol buffer; of a field that occurs twice the last value."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif key & 7 == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            assert key & 7 == 2, key
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        found[key >> 3] = value
    return found


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        size, crc = struct.unpack_from("<QI", data, at)
        assert crc == masked_crc(data[at:at + 8])
        body = data[at + 12:at + 12 + size]
        assert struct.unpack_from("<I", data, at + 12 + size)[0] == masked_crc(body)
        yield body
        at += size + 16


class Check(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def same(self, found, expected):
        self.assertEqual(list(found), list(expected))
        for name, array in expected.items():
            self.assertEqual((found[name].dtype, found[name].shape), (array.dtype, array.shape), name)
            self.assertEqual(found[name].tobytes(), array.tobytes(), name)

    def copied(self, source, target):
        try:
            run("copy", self.path(source), self.path(target))
        except AssertionError as error:
            if "without libzip" in str(error):
                self.skipTest("built without libzip")
            raise

    def test_safetensors(self):
        made = arrays(DTYPES[:-1])
        metadata = {"format": "np", "\u00fc": "\"quoted\"\n"}
        safetensors.numpy.save_file(made, self.path("a.safetensors"), metadata)
        self.copied("a.safetensors", "b.safetensors")
        found = safetensors.numpy.load_file(self.path("b.safetensors"))
        self.same(dict(sorted(found.items())), dict(sorted(made.items())))
        with safetensors.safe_open(self.path("b.safetensors"), "np") as file:
            self.assertEqual(file.metadata(), metadata)

    def test_bfloat16(self):
        header = b'{"x":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}}'
        with open(self.path("a.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + bytes(range(12)))
        self.copied("a.safetensors", "b.safetensors")
        with open(self.path("b.safetensors"), "rb") as file:
            again = dict(safetensors.deserialize(file.read()))
        self.assertEqual((again["x"]["dtype"], again["x"]["shape"], bytes(again["x"]["data"])),
                         ("BF16", [2, 3], bytes(range(12))))

    def test_npz(self):
        made = arrays(DTYPES)
        made["fortran"] = np.asfortranarray(np.arange(6.0).reshape(2, 3))
        for save in (np.savez, np.savez_compressed):
            save(self.path("a.npz"), **made)
            self.copied("a.npz", "b.npz")
            with np.load(self.path("b.npz")) as found:
                self.same(found, made)

    def test_zeros_compress_best(self):
        made = {"zeros": np.zeros(3_000_000)}
        np.savez_compressed(self.path("a.npz"), **made)
        self.copied("a.npz", "b.npz")
        with np.load(self.path("b.npz")) as found:
            self.same(found, made)

    def test_from_one_format_to_the_other(self):
        made = arrays(DTYPES[:-1])
        np.savez(self.path("a.npz"), **made)
        self.copied("a.npz", "a.safetensors")
        self.same(dict(sorted(safetensors.numpy.load_file(self.path("a.safetensors")).items())),
                  dict(sorted(made.items())))
        self.copied("a.safetensors", "b.npz")
        with np.load(self.path("b.npz")) as found:
            self.same(found, made)  # in the first order, though safetensors puts larger elements first

    def test_nothing(self):
        np.savez(self.path("a.npz"))
        self.copied("a.npz", "b.npz")
        with np.load(self.path("b.npz")) as found:
            self.assertEqual(list(found), [])
        self.copied("b.npz", "b.safetensors")
        self.assertEqual(safetensors.numpy.load_file(self.path("b.safetensors")), {})

    def test_objects_are_refused(self):
        np.savez(self.path("a.npz"), x=np.array([{}], dtype=object))
        said = run("copy", self.path("a.npz"), self.path("b.npz"), expect=1)[1]
        if "without libzip" not in said:
            self.assertIn('array "x": elements of type \'|O\' are not read', said)

    def test_event_file(self):
        written, _ = run("events", self.path("new/logs"))
        file = written.strip()
        self.assertRegex(os.path.basename(file), r"^events\.out\.tfevents\.\d{10}\..")
        with open(file, "rb") as opened:
            events = [fields(record) for record in records(opened.read())]
        self.assertEqual(events[0][3], b"brain.Event:2")
        self.assertEqual(len(events), 303)
        points = []
        for event in events[1:]:
            self.assertAlmostEqual(event[1], os.stat(file).st_mtime, delta=60)
            value = fields(fields(event[5])[1])
            points.append((value[1].decode(), value[2], event[2]))
        self.assertEqual(points[:300], [("train/loss", struct.unpack("f", struct.pack("f", 1 / (i + 1)))[0], i)
                                        for i in range(300)])
        self.assertEqual(points[300], ("gr\u00f6\u00dfe", -0.5, 1 << 40))
        self.assertEqual((points[301][0], points[301][2]), ("nan", 2**64 - 1))  # -1
        self.assertNotEqual(points[301][1], points[301][1])


unittest.main()
