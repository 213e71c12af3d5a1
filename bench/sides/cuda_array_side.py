"""CuPy's arrays as PyTorch's on a GPU, and the other way round, as Python's own programs do it.

bench/c/serve.h says how it is asked. `to_torch` and `from_torch` take an array and let it go again. A `lap` is a kernel of
CuPy's and a turn of PyTorch's on the same words, each on a stream of its own, which wait for each other on the GPU.
"""

import sys
import time
from pathlib import Path

try:
    import cupy
    import numpy
    import torch

    torch.zeros(1, device="cuda")
except Exception as error:  # CuPy and PyTorch raise many kinds where there is no GPU
    print(f"missing: {error}".splitlines()[0], flush=True)
    sys.exit()

COUNT, THREADS = 1 << 14, 256
sys.dont_write_bytecode = True
HERE = Path(__file__).parent.parent.parent
sys.path.insert(0, str(HERE / "tests/python/gpu"))


def laps():
    """What submits laps, and what waits for them."""
    import ring

    ring.start(COUNT)
    kernel = cupy.RawKernel((HERE / "tests/python/gpu/turn.cu").read_text(), "turn")
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        words, wrong = cupy.zeros(COUNT, "i4"), cupy.zeros(1, "u4")
    number = 0

    def submit(count):
        nonlocal number
        with stream:
            for _ in range(count):
                kernel((COUNT // THREADS,), (THREADS,), (words, numpy.int32(COUNT), numpy.int32(number), wrong))
                its = torch.from_dlpack(words)  # PyTorch's stream waits for CuPy's
                ring.turn(its, number + 1)
                cupy.from_dlpack(its)  # CuPy's stream waits for PyTorch's
                number += 2
        torch.cuda.synchronize()

    def check():
        if int(wrong[0]) + int(ring.wrong.item()) > 0:
            raise RuntimeError("words were wrong")

    return submit, check


def main():
    ours = cupy.zeros(256, "f4")
    theirs = torch.zeros(256, device="cuda")
    submit, check = None, None

    def to_torch(count):
        for _ in range(count):
            torch.from_dlpack(ours)

    def from_torch(count):
        for _ in range(count):
            cupy.from_dlpack(theirs)

    def lap(count):
        nonlocal submit, check
        if submit is None:
            submit, check = laps()
        submit(count)

    operations = {"to_torch": to_torch, "from_torch": from_torch, "lap": lap}
    print("ready", flush=True)
    for line in sys.stdin:
        name, count = line.split()
        start = time.perf_counter_ns()
        operations[name](int(count))
        spent = time.perf_counter_ns() - start
        if check is not None:
            check()
        print(spent, flush=True)


main()
