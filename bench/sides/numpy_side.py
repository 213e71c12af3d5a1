"""Memory of others as a NumPy array, and let go again, as Python's own programs do it.

bench/c/serve.h says how it is asked. `frombuffer` goes over ctypes, `from_dlpack` takes another array.
"""

import ctypes
import sys
import time

try:
    import numpy
except ImportError as error:
    print(f"missing: {error}", flush=True)
    sys.exit()

COUNT = 256


def main():
    memory = numpy.zeros(COUNT, numpy.float32)
    address, kind = memory.ctypes.data, ctypes.c_float * COUNT

    def frombuffer(count):
        for _ in range(count):
            numpy.frombuffer(kind.from_address(address), numpy.float32)

    def from_dlpack(count):
        for _ in range(count):
            numpy.from_dlpack(memory)

    operations = {"frombuffer": frombuffer, "from_dlpack": from_dlpack}
    print("ready", flush=True)
    for line in sys.stdin:
        name, count = line.split()
        start = time.perf_counter_ns()
        operations[name](int(count))
        print(time.perf_counter_ns() - start, flush=True)


main()
