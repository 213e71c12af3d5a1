"""The other end of a channel, with nothing but Python's standard library: see docs/guides/between-processes.md.

python3 peer.py connect PATH send            sends a picture of 64 x 48 in NV12 and a tensor of floats
python3 peer.py listen PATH receive          says of each message what it is, and the sum of its bytes
python3 peer.py connect PATH echo            sends back what it receives, with every byte one more
"""
import fcntl
import json
import mmap
import os
import socket
import struct
import sys

HEADER = struct.Struct("<4sBBHII")  # magic, version, kind, fds, length of the body, reserved
F_ADD_SEALS, F_SEAL_SHRINK, F_SEAL_GROW = 1033, 2, 4
NV12 = int.from_bytes(b"NV12", "little")


def sealed_memfd(size):
    fd = os.memfd_create("python", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl.fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)
    return fd


def send(connection, body, fds):
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    socket.send_fds(connection, [HEADER.pack(b"page", 2, 1, len(fds), len(text), 0), text], fds)


def receive(connection):
    packet, fds, flags, _ = socket.recv_fds(connection, 16 + 65536, 64)
    if not packet:
        return None, fds
    assert flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC) == 0
    magic, version, kind, count, length, reserved = HEADER.unpack_from(packet)
    assert (magic, version, kind, count, length, reserved) == (b"page", 2, 1, len(fds), len(packet) - 16, 0)
    return json.loads(packet[16:]), fds


def send_samples(connection):
    picture = sealed_memfd(64 * 48 * 3 // 2)
    with mmap.mmap(picture, 0) as memory:
        memory[:] = bytes(i % 251 for i in range(len(memory)))
    send(connection, {
        "memory": "memfd", "access": "read", "sync": "done",
        "objects": [{"offset": 0, "byteLength": 64 * 48 * 3 // 2}],
        "planes": [
            {"dtype": "u8", "shape": [48, 64], "strides": [64, 1], "byteOffset": 0},
            {"dtype": "u8", "shape": [24, 32, 2], "strides": [64, 2, 1], "byteOffset": 64 * 48},
        ],
        "image": {"fourcc": NV12, "width": 64, "height": 48, "modifier": "0", "colour": {"matrix": "bt601"}},
        "metadata": [
            {"name": "timestamp", "fields": {"pts": {"int": "40000000"}}},
            {"name": "source", "fields": {"stream": "Haustür"}},
        ],
    }, [picture])
    floats = sealed_memfd(4096)
    with mmap.mmap(floats, 0) as memory:
        struct.pack_into("<3f", memory, 100, 0.5, 1.5, 2.5)
    send(connection, {
        "memory": "memfd", "access": "read-write", "sync": "done",
        "objects": [{"offset": 100, "byteLength": 12}],
        "planes": [{"dtype": "f32", "shape": [3], "strides": [4], "byteOffset": 0}],
    }, [floats])
    connection.shutdown(socket.SHUT_WR)
    connection.recv(1)  # until the other side has ended
    with mmap.mmap(floats, 0) as memory:
        print(struct.unpack_from("<3f", memory, 100))


def each(connection, use):
    while True:
        body, fds = receive(connection)
        if body is None:
            return
        use(body, fds)
        for fd in fds:
            os.close(fd)


def shown(body, fds):
    plane, part = body["planes"][0], body["objects"][0]
    with mmap.mmap(fds[0], 0, prot=mmap.PROT_READ) as memory:
        total = sum(memory[part["offset"]:part["offset"] + part["byteLength"]])
    what = body.get("image", {}).get("fourcc", plane["dtype"])
    print(body["memory"], body["access"], what, plane["shape"], total, body.get("metadata"), flush=True)


def main(way, path, what):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as ours:
        if way == "listen":
            ours.bind(path)
            ours.listen()
            print("listening", flush=True)
        else:
            ours.connect(path)
        connection = ours.accept()[0] if way == "listen" else ours
        if what == "send":
            return send_samples(connection)
        if what == "receive":
            return each(connection, shown)

        def echo(body, fds):
            part = body["objects"][0]
            with mmap.mmap(fds[0], 0) as memory:
                end = part["offset"] + part["byteLength"]
                memory[part["offset"]:end] = bytes((byte + 1) % 256 for byte in memory[part["offset"]:end])
            send(connection, body, fds)

        each(connection, echo)


main(*sys.argv[1:])
