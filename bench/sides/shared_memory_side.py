"""Frames from one process to another through multiprocessing.shared_memory: what people use from Python.

`shared_memory_side.py SIZE`, as frames.ts does it; bench/c/serve.h says how it is asked. A pipe says which frame is whose.
"""

import os
import struct
import sys
import time
from multiprocessing import Pipe, Process, shared_memory

try:
    import numpy
except ImportError as error:
    print(f"missing: {error}", flush=True)
    sys.exit()

SIZES = {"1080p": (1920, 1080), "small": (64, 48)}

# Frames that may be under way.
FRAMES = 4

NOTICE = struct.Struct("<IIQ")


class Lane:
    """One direction: frames in shared memory, and a pipe for notices both ways."""

    def __init__(self, width, height):
        self.width = width
        self.rows = [0, height >> 1, height - 1]
        self.memory = [shared_memory.SharedMemory(create=True, size=4 * width * height) for _ in range(FRAMES)]
        self.frames = [numpy.ndarray((height, width), numpy.uint32, memory.buf) for memory in self.memory]
        self.sending, self.receiving = Pipe()
        self.sent = 0
        self.released = 0

    def send(self, stamp):
        if self.sent - self.released == FRAMES:
            self.sending.recv_bytes()
            self.released += 1
        index = self.sent % FRAMES
        for row in self.rows:
            self.frames[index][row] = stamp
        self.sent += 1
        self.sending.send_bytes(NOTICE.pack(1, index, self.sent))

    def receive(self):
        _, index, sequence = NOTICE.unpack(self.receiving.recv_bytes())
        frame = self.frames[index]
        total = sum(int(frame[row].sum()) for row in self.rows)
        self.receiving.send_bytes(NOTICE.pack(2, index, sequence))
        return total

    def close(self):
        self.frames = []
        for memory in self.memory:
            memory.close()
            memory.unlink()


def far(out, back, asked):
    """The other process: it sends what it is asked for."""
    while True:
        what, count = asked.recv()
        if what == "cpu":
            asked.send(time.process_time_ns())
        elif what == "frames":
            for i in range(count):
                out.send(i % 256)
        elif what == "echo":
            for _ in range(count):
                out.send(back.receive() // (3 * back.width))
        else:
            os._exit(0)


def main(size):
    lane, back = Lane(*SIZES[size]), Lane(*SIZES[size])
    ask, asked = Pipe()
    other = Process(target=far, args=(lane, back, asked))
    other.start()

    def check(total, stamp):
        if total != 3 * lane.width * stamp:
            raise SystemExit(f"expected frame {stamp}, got the sum {total}")

    def frames(count):
        ask.send(("frames", count))
        for i in range(count):
            check(lane.receive(), i % 256)

    def worked():
        ask.send(("cpu", 0))
        return time.process_time_ns() + ask.recv()

    def echo(count):
        ask.send(("echo", count))
        for i in range(count):
            back.send(i % 256)
            check(lane.receive(), i % 256)

    def timed(run, count):
        start = time.perf_counter_ns()
        run(count)
        return time.perf_counter_ns() - start

    def cpu(count):
        before = worked()
        frames(count)
        return worked() - before

    operations = {"frames": lambda n: timed(frames, n), "echo": lambda n: timed(echo, n), "cpu": cpu}
    print("ready", flush=True)
    for line in sys.stdin:
        name, count = line.split()
        print(operations[name](int(count)), flush=True)
    ask.send(("end", 0))
    other.join()
    lane.close()
    back.close()


main(*sys.argv[1:])
