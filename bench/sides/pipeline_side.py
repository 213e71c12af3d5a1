"""The pipeline by PyAV, NumPy, pyopencl and onnxruntime, as their guides do it.

`pipeline_side.py FOLDER_OF_PYAV FOLDER_OF_ONNXRUNTIME PLATFORM DEVICE pipeline.cl MODEL CLIP OUT`; bench/c/serve.h says
how it is asked. `to_ndarray` and `from_ndarray` copy each frame once; OpenCL uses the arrays in place.
"""

import sys

sys.path[:0] = sys.argv[1:3]
try:
    import av
    import numpy
    import onnxruntime
    import pyopencl as cl
    from pictures import find_device, planes_of, serve
except ImportError as error:
    print(f"missing: {error}", flush=True)
    sys.exit()

ACROSS, DOWN, EVERY = 640, 352, 10


def boxes_in(likely):
    """A box around what is connected in a map of probabilities."""
    likely = likely.ravel().tolist()
    for start in range(ACROSS * DOWN):
        if likely[start] < 0.3:
            continue
        left, top, right, bottom, size, waiting = ACROSS, DOWN, 0, 0, 0, [start]
        while waiting:
            at = waiting.pop()
            if at < 0 or at >= ACROSS * DOWN or likely[at] < 0.3:
                continue
            likely[at] = 0
            x, y = at % ACROSS, at // ACROSS
            left, top, right, bottom, size = min(left, x), min(top, y), max(right, x + 1), max(bottom, y + 1), size + 1
            if x > 0:
                waiting.append(at - 1)
            if x < ACROSS - 1:
                waiting.append(at + 1)
            waiting += [at - ACROSS, at + ACROSS]
        if size >= ACROSS * DOWN / 5000:
            yield left, top, right, bottom


def draw(luma, boxes):
    height, width = luma.shape
    for left, top, right, bottom in boxes:
        left, right = left * width // ACROSS, right * width // ACROSS
        top, bottom = top * height // DOWN, bottom * height // DOWN
        luma[top : top + 2, left:right] = 255
        luma[bottom - 2 : bottom, left:right] = 255
        luma[top:bottom, left : left + 2] = 255
        luma[top:bottom, right - 2 : right] = 255


def main(platform_name, device_name, source, model, clip, out):
    context = cl.Context([find_device(platform_name, device_name)])
    queue = cl.CommandQueue(context)
    with open(source) as file:
        program = cl.Program(context, file.read()).build()
    edges, prepare = program.edges, program.prepare
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    read = numpy.empty((1, 3, DOWN, ACROSS), numpy.float32)

    def call(kernel, size, arrays, *numbers):
        buffers = [cl.Buffer(context, flags, hostbuf=array) for array in arrays]
        first, stride, second, *others = buffers[0], numbers[0], buffers[1], *numbers[1:]
        kernel(queue, size, None, first, numpy.int32(stride), second, *map(numpy.int32, others))
        seen, _ = cl.enqueue_map_buffer(queue, buffers[1], cl.map_flags.READ, 0, arrays[1].shape, arrays[1].dtype)
        seen.base.release(queue).wait()
        for buffer in buffers:
            buffer.release()

    def one():
        frames = found = 0
        with av.open(clip) as source, av.open(out, "w") as target:
            video = source.streams.video[0]
            video.thread_type = "AUTO"
            stream = target.add_stream("libx264", rate=video.average_rate, options={"preset": "ultrafast"})
            stream.width, stream.height, stream.pix_fmt = video.width, video.height, "yuv420p"
            for frame in source.decode(video):
                array = frame.to_ndarray()
                result = numpy.empty_like(array)
                size = (frame.width, frame.height)
                for i, (plane, to) in enumerate(zip(planes_of(array, *size), planes_of(result, *size))):
                    pixels, width, height = plane
                    call(edges, (width, height), (pixels, to[0]), width, width, width, height, i)
                if frames % EVERY == 0:
                    luma = planes_of(result, *size)[0][0]
                    call(prepare, (ACROSS, DOWN), (luma, read), frame.width, ACROSS, DOWN)
                    boxes = list(boxes_in(session.run(None, {name: read})[0]))
                    draw(luma.reshape(frame.height, frame.width), boxes)
                    found += len(boxes)
                target.mux(stream.encode(av.VideoFrame.from_ndarray(result, format="yuv420p")))
                frames += 1
            target.mux(stream.encode(None))
        if found == 0:
            raise SystemExit("no text was found")

    serve(one)


main(*sys.argv[3:])
