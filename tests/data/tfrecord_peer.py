#!/usr/bin/env python3
"""A second opinion on TFRecords: reads and writes them with protobuf's own library.

    tfrecord_peer.py dump X.tfrecord    a JSON line a record: {"feature": [type, values]}
    tfrecord_peer.py make X.tfrecord    from such lines on standard input
    tfrecord_peer.py same X.tfrecord    fails unless protobuf would encode each record as it is

Bytes stand in JSON as Latin-1. Needs example_pb2, which protoc makes of example.proto, on PYTHONPATH.
"""

import json
import struct
import sys

from example_pb2 import Example


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def records(path):
    with open(path, "rb") as file:
        while length := file.read(8):
            assert file.read(4) == masked_crc(length)
            data = file.read(struct.unpack("<Q", length)[0])
            assert file.read(4) == masked_crc(data)
            yield data


def frame(data):
    length = struct.pack("<Q", len(data))
    return length + masked_crc(length) + data + masked_crc(data)


def to_json(feature):
    kind = feature.WhichOneof("kind")
    values = getattr(feature, kind).value
    if kind == "bytes_list":
        values = [value.decode("latin-1") for value in values]
    return [kind[:-5], list(values)]


def from_json(feature, kind, values):
    if kind == "bytes":
        values = [value.encode("latin-1") for value in values]
    chosen = getattr(feature, kind + "_list")
    chosen.SetInParent()
    chosen.value.extend(values)


def dump(path):
    for data in records(path):
        features = Example.FromString(data).features.feature
        print(json.dumps({name: to_json(features[name]) for name in sorted(features)}))


def make(path):
    with open(path, "wb") as file:
        for line in sys.stdin:
            example = Example()
            for name, (kind, values) in json.loads(line).items():
                from_json(example.features.feature[name], kind, values)
            file.write(frame(example.SerializeToString()))


def same(path):
    count = 0
    for count, data in enumerate(records(path), 1):
        assert Example.FromString(data).SerializeToString(deterministic=True) == data, count
    assert count > 0


if __name__ == "__main__":
    {"dump": dump, "make": make, "same": same}[sys.argv[1]](sys.argv[2])
