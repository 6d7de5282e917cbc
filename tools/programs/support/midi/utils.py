"""Reads and writes standard MIDI files as piano rolls: one row per time step, one column per pitch, 1 if a note
sounds."""

import struct

import numpy

TICKS = 480  # Ticks per beat; a beat has 500,000 microseconds unless the file has another tempo.


def _number(value):
    """A number in MIDI's variable length: 7 bits per byte, with the highest bit set in all but the last."""
    data = [value & 127]
    while value > 127:
        value >>= 7
        data.insert(0, 128 | (value & 127))
    return bytearray(data)


def midiwrite(filename, piano_roll, r=(21, 109), dt=0.2):
    """Writes a piano roll whose columns are the pitches r[0] to r[1] - 1 and whose rows are dt seconds apart."""
    roll = numpy.asarray(piano_roll) > 0
    step = int(round(dt / 0.5 * TICKS))
    track, last = bytearray(), 0
    before = numpy.zeros(roll.shape[1], bool)
    for at, now in enumerate(list(roll) + [numpy.zeros(roll.shape[1], bool)]):
        for pitch in numpy.flatnonzero(now != before):
            track += _number(at * step - last)
            track += bytearray([0x90 if now[pitch] else 0x80, r[0] + int(pitch), 64])
            last = at * step
        before = now
    track += bytearray([0, 0xFF, 0x2F, 0])
    with open(filename, "wb") as file:
        file.write(struct.pack(">4sihhh", b"MThd", 6, 0, 1, TICKS))
        file.write(struct.pack(">4si", b"MTrk", len(track)) + bytes(track))


def _events(data, ticks_a_beat):
    """(seconds, pitch, on) of the notes of a track."""
    at, seconds, tempo, status = 0, 0.0, 500000, 0

    def number():
        nonlocal at
        value = 0
        while True:
            byte = data[at]
            at += 1
            value = value << 7 | (byte & 127)
            if byte < 128:
                return value

    while at < len(data):
        seconds += number() * tempo * 1e-6 / ticks_a_beat
        if data[at] >= 128:
            status = data[at]
            at += 1
        if status == 0xFF:
            kind = data[at]
            at += 1
            length = number()
            if kind == 0x51:
                tempo = int.from_bytes(data[at : at + length], "big")
            at += length
        elif status >= 0xF0:
            at += number()
        elif status >> 4 in (8, 9):
            yield seconds, data[at], status >> 4 == 9 and data[at + 1] > 0
            at += 2
        else:
            at += 1 if status >> 4 in (12, 13) else 2


class midiread(object):
    """The piano roll of a file, as the attribute piano_roll."""

    def __init__(self, filename, r=(21, 109), dt=0.2):
        with open(filename, "rb") as file:
            data = file.read()
        tracks, ticks = struct.unpack(">hh", data[10:14])
        at, notes = 14, []
        for _ in range(tracks):
            length = struct.unpack(">i", data[at + 4 : at + 8])[0]
            sounding = {}
            for seconds, pitch, on in _events(data[at + 8 : at + 8 + length], ticks):
                if pitch in sounding:
                    notes.append((sounding.pop(pitch), seconds, pitch))
                if on:
                    sounding[pitch] = seconds
            at += 8 + length
        rows = int(round(max([end for _, end, _ in notes] or [0]) / dt))
        self.piano_roll = numpy.zeros((rows, r[1] - r[0]))
        for start, end, pitch in notes:
            if r[0] <= pitch < r[1]:
                self.piano_roll[int(round(start / dt)) : int(round(end / dt)), pitch - r[0]] = 1
