"""A frame inverted by pyopencl over a NumPy array, in place: what people use from Python.

`pyopencl_side.py PLATFORM DEVICE kernels.cl`; bench/c/serve.h says how it is asked.
"""

import sys
import time

try:
    import numpy
    import pyopencl as cl
except ImportError as error:
    print(f"missing: {error}", flush=True)
    sys.exit()

PIXELS = 3840 * 2160
PAGE = 4096


def find_device(platform_name, device_name):
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            if (platform.name, device.name) == (platform_name, device_name):
                return device
    raise SystemExit(f"no device {device_name} of {platform_name}")


def aligned_frame():
    """A page-aligned frame, as samepage's and C's are. Random: what is compared can not be guessed."""
    room = numpy.empty(4 * PIXELS + PAGE, numpy.uint8)
    start = -room.ctypes.data % PAGE
    frame = room[start : start + 4 * PIXELS]
    frame[:] = numpy.random.default_rng().integers(0, 256, 4 * PIXELS, numpy.uint8)
    return frame


def main(platform_name, device_name, source):
    context = cl.Context([find_device(platform_name, device_name)])
    queue = cl.CommandQueue(context)
    with open(source) as file:
        invert = cl.Program(context, file.read()).build().invert
    frame = aligned_frame()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR

    def run(count):
        for _ in range(count):
            before = frame[-1]
            buffer = cl.Buffer(context, flags, hostbuf=frame)
            invert(queue, (PIXELS,), None, buffer)
            pixels, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, frame.shape, frame.dtype)
            pixels.base.release(queue).wait()
            buffer.release()
            if frame[-1] != 255 - before:
                raise SystemExit("the frame was not inverted")

    wanted = 255 - frame
    run(1)
    if not numpy.array_equal(frame, wanted):
        raise SystemExit("the frame is not the inverse of what it was")

    print("ready", flush=True)
    for line in sys.stdin:
        _, count = line.split()
        start = time.perf_counter_ns()
        run(int(count))
        print(time.perf_counter_ns() - start, flush=True)


main(*sys.argv[1:])
