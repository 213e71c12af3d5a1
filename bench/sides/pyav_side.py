"""A clip through PyAV, NumPy and pyopencl: decoded, blurred plane by plane and encoded, as PyAV's own guide does it.

`pyav_side.py FOLDER_OF_PYAV PLATFORM DEVICE kernels.cl CLIP OUT`; bench/c/serve.h says how it is asked. `to_ndarray` and
`from_ndarray` copy each frame once; OpenCL uses the arrays in place.
"""

import sys

sys.path.insert(0, sys.argv[1])
try:
    import av
    import numpy
    import pyopencl as cl
    from pictures import find_device, planes_of, serve
except ImportError as error:
    print(f"missing: {error}", flush=True)
    sys.exit()


def main(platform_name, device_name, source, clip, out):
    context = cl.Context([find_device(platform_name, device_name)])
    queue = cl.CommandQueue(context)
    with open(source) as file:
        gaussian = cl.Program(context, file.read()).build().gaussian
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR

    def blur(plane, to):
        pixels, width, height = plane
        buffers = [cl.Buffer(context, flags, hostbuf=array) for array in (pixels, to)]
        row = numpy.int32(width)
        gaussian(queue, (width, height), None, buffers[0], row, buffers[1], row, row, numpy.int32(height))
        seen, _ = cl.enqueue_map_buffer(queue, buffers[1], cl.map_flags.READ, 0, to.shape, to.dtype)
        seen.base.release(queue).wait()
        for buffer in buffers:
            buffer.release()

    def one():
        frames = 0
        with av.open(clip) as source, av.open(out, "w") as target:
            video = source.streams.video[0]
            video.thread_type = "AUTO"
            stream = target.add_stream("libx264", rate=video.average_rate, options={"preset": "ultrafast"})
            stream.width, stream.height, stream.pix_fmt = video.width, video.height, "yuv420p"
            for frame in source.decode(video):
                array = frame.to_ndarray()
                blurred = numpy.empty_like(array)
                size = (frame.width, frame.height)
                for plane, (to, _, _) in zip(planes_of(array, *size), planes_of(blurred, *size)):
                    blur(plane, to)
                target.mux(stream.encode(av.VideoFrame.from_ndarray(blurred, format="yuv420p")))
                frames += 1
            target.mux(stream.encode(None))
        if frames == 0:
            raise SystemExit("the clip has no frames")

    serve(one)


main(*sys.argv[2:])
