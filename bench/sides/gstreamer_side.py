"""Pictures of one pipeline, inverted by pyopencl over NumPy's arrays, and into another, as Python's programs do it.

`gstreamer_side.py PLATFORM DEVICE kernels.cl`; bench/c/serve.h says how it is asked, bench/gstreamer_pipeline_bench.ts what
the pipelines are. What GStreamer maps is copied to Python's `bytes`, those to an array, that to `bytes`, and they to a buffer.
"""

import os
import sys

try:
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstApp", "1.0")
    from gi.repository import Gst, GstApp
    import numpy
    import pyopencl as cl
    from pictures import find_device, serve
except (ImportError, ValueError) as error:
    print(f"missing: {error}", flush=True)
    sys.exit()

LUMA = 1920 * 1080
FRAMES = int(os.environ["SAMEPAGE_BENCH_FRAMES"])


def main(platform_name, device_name, source):
    context = cl.Context([find_device(platform_name, device_name)])
    queue = cl.CommandQueue(context)
    with open(source) as file:
        invert = cl.Program(context, file.read()).build().invert
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR

    def inverted(plane):
        buffer = cl.Buffer(context, flags, hostbuf=plane)
        invert(queue, (plane.size // 4,), None, buffer)
        seen, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, plane.shape, plane.dtype)
        seen.base.release(queue).wait()
        buffer.release()

    def one():
        taken = Gst.parse_launch(os.environ["SAMEPAGE_BENCH_FROM"].replace("%ld", str(FRAMES)))
        given = Gst.parse_launch(os.environ["SAMEPAGE_BENCH_TO"])
        sink, source = taken.get_by_name("out"), given.get_by_name("in")
        source.set_property("format", Gst.Format.TIME)
        source.set_property("block", True)
        taken.set_state(Gst.State.PLAYING)
        given.set_state(Gst.State.PLAYING)
        frames = 0
        while (sample := sink.pull_sample()) is not None:
            if frames == 0:
                source.set_caps(sample.get_caps())
            buffer = sample.get_buffer()
            there, mapped = buffer.map(Gst.MapFlags.READ)
            if not there:
                raise SystemExit("the buffer was not mapped")
            array = numpy.array(numpy.frombuffer(mapped.data, numpy.uint8))
            buffer.unmap(mapped)
            inverted(array[:LUMA])
            inverted(array[LUMA:])
            made = Gst.Buffer.new_wrapped(array.tobytes())
            made.pts, made.duration = buffer.pts, buffer.duration
            if source.push_buffer(made) != Gst.FlowReturn.OK:
                raise SystemExit("the buffer was not taken")
            frames += 1
        source.end_of_stream()
        given.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        for pipeline in (taken, given):
            pipeline.set_state(Gst.State.NULL)
        if frames != FRAMES:
            raise SystemExit(f"{frames} frames came, and not {FRAMES}")

    Gst.init(None)
    serve(one)


main(*sys.argv[1:])
