import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  type FrameInfo,
  host,
  type ImageInfo,
  imageInfo,
  InteropError,
  LayoutError,
  MapperGraph,
} from "@samepage/interop";
import { GStreamerContext, type GStreamerTensor, type Pipeline, PipelineError } from "@samepage/interop/gstreamer";
import { any, fails, say, sleep } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const GRAY = imageInfo({ format: "GRAY8", width: 16, height: 8 });
const THROUGH = "appsrc name=in ! videoflip video-direction=180 ! appsink name=out sync=false";
const FRAMES = "videotestsrc num-buffers=9 ! video/x-raw,format=GRAY8,width=16,height=8 ! appsink name=out sync=false";

const PHOTO = new URL("../../../examples/edges/photo.jpg", import.meta.url).pathname;

interface There {
  readonly gst: GStreamerContext;
  readonly pipeline: Pipeline;
  /** A frame of GStreamer's, over memory of the host's. */
  frame(info?: FrameInfo): Frame<GStreamerTensor>;
}

/** A row with a pipeline, which ends with it. */
function row(description: string, use: (there: There) => unknown, more: Omit<Row, "run"> = {}): Row {
  return {
    ...more,
    async run() {
      using gst = await GStreamerContext.open();
      using graph = new MapperGraph([host, gst]);
      await using made = new AsyncDisposableStack();
      const frame = (info: FrameInfo = GRAY) =>
        made.use(graph.map(made.use(host.allocateFrame(info)), gst, { access: "read" }) as Frame<GStreamerTensor>);
      await using pipeline = gst.launch(description);
      await use({ gst, pipeline, frame });
    },
  };
}

const wrong = (argument: string, message: RegExp, hint?: RegExp, fn?: string): { readonly fails: Failure } => ({
  fails: {
    ...{ error: ArgumentError, api: "gstreamer", argument, message },
    ...hint && { hint },
    ...fn !== undefined && { fn },
  },
});

async function count(pipeline: Pipeline): Promise<number> {
  let frames = 0;
  for await (using _ of pipeline.sink("out")) frames++;
  return frames;
}

/** The rejection of a write: the stream itself has it as its own. */
async function write(there: There, ...infos: readonly (ImageInfo | undefined)[]): Promise<void> {
  const writer = there.pipeline.source("in", GRAY).getWriter();
  writer.closed.catch(() => {});
  for (const info of infos) await writer.write(there.frame(info));
}

const launch = (description: unknown, fails: Failure, options?: unknown): Row => ({
  async run() {
    using gst = await GStreamerContext.open();
    gst.launch(any(description), any(options));
  },
  fails,
});

export default table(import.meta, {
  "pipelines: a loop to the end, a pause, a stop, and another": {
    ...row(FRAMES, async ({ pipeline }) => {
      say(await count(pipeline), await pipeline.ended());
      say(pipeline.sink("out").toString());
      await pipeline.stop();
      await pipeline.pause();
      await pipeline.play();
      await pipeline.seek(0);
      say(pipeline.position! >= 0);
      await pipeline.flush();
    }),
    says: ["9 true", "appsink out of GStreamer pipeline", "true"],
  },
  "pipelines: no description": launch(undefined, wrong("description", /expected a string, got undefined/).fails),
  "pipelines: a description with a zero inside": launch(
    "videotestsrc ! fakesink\0 name=out",
    wrong("description", /has a zero inside, where C would take it to end/).fails,
  ),
  "pipelines: an empty description": launch(
    " ",
    wrong("description", /specified empty bin/, /gst-inspect/, "gst_parse_launch").fails,
  ),
  "pipelines: an element that is not there": launch(
    "videotestsrc ! nonesuch",
    wrong("description", /no element "nonesuch"/, /gst-inspect-1.0 ELEMENT/, "gst_parse_launch").fails,
  ),
  "pipelines: a property that is not there": launch(
    "videotestsrc colour=red ! fakesink",
    wrong("description", /no property "colour"/, /gst-inspect/, "gst_parse_launch").fails,
  ),
  "pipelines: a bracket too many": launch(
    "videotestsrc ) ! fakesink",
    wrong("description", /syntax error/, /gst-launch-1.0 takes the same syntax/, "gst_parse_launch").fails,
  ),
  "pipelines: a misspelt option": launch("videotestsrc", {
    ...{
      error: ArgumentError,
      api: "core",
      argument: "options",
      message: /unknown property onWarning/,
      hint: /warning/,
    },
  }, { onWarning() {} }),
  "pipelines: a warning that is not a function": launch(
    "videotestsrc",
    wrong("warning", /expected a function, got a string/).fails,
    { warning: "console" },
  ),
  "pipelines: of a context that has ended": {
    async run() {
      const gst = await GStreamerContext.open();
      gst[Symbol.dispose]();
      gst.launch("videotestsrc");
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "pipelines: everything of one that has ended": row("videotestsrc ! appsink name=out", async ({ pipeline }) => {
    const sink = pipeline.sink("out");
    pipeline[Symbol.dispose]();
    pipeline[Symbol.dispose]();
    await pipeline[Symbol.asyncDispose]();
    fails("sink", () => pipeline.sink("out"), DisposedError);
    fails("source", () => pipeline.source("in", GRAY), DisposedError);
    fails("position", () => pipeline.position, DisposedError);
    fails("duration", () => pipeline.duration, DisposedError);
    fails("handle", () => pipeline.handle, DisposedError);
    const calls = [
      pipeline.play(),
      pipeline.pause(),
      pipeline.stop(),
      pipeline.ended(),
      pipeline.seek(1),
      pipeline.flush(),
    ];
    for (const { status } of await Promise.allSettled(calls)) if (status !== "rejected") throw new Error(status);
    for await (const _ of sink) throw new Error("a frame");
  }, { fails: { error: DisposedError, api: "core", message: /GStreamer pipeline was disposed/ } }),
  "pipelines: a file that is not there": row(
    "filesrc location=/nonesuch ! decodebin ! appsink name=out",
    ({ pipeline }) => pipeline.play(),
    {
      fails: {
        ...{ error: PipelineError, api: "gstreamer", code: 3, codeName: "gst-resource-error-quark" },
        message: /^filesrc\d+ failed with gst-resource-error-quark 3: Resource not found\.$/,
        has: { element: /filesrc/, debug: /No such file/ },
      },
    },
  ),
  "pipelines: pictures where sound is to come": row(
    `filesrc location=${PHOTO} ! decodebin ! audioconvert ! appsink name=out`,
    ({ pipeline }) => count(pipeline),
    {
      warns: /Delayed linking failed/,
      fails: {
        ...{ error: PipelineError, api: "gstreamer", code: 1, codeName: "gst-stream-error-quark" },
        message: /Internal data stream error/,
        hint: /a sink that takes what comes/,
        has: { debug: /not-linked/ },
      },
    },
  ),
  "pipelines: a sink that is not there": row(
    FRAMES,
    ({ pipeline }) => pipeline.sink("in"),
    wrong("name", /no element "in"/, /appsink name=in/, "gst_bin_get_by_name"),
  ),
  "pipelines: a sink that is none": row(
    "videotestsrc name=out ! fakesink",
    ({ pipeline }) => pipeline.sink("out"),
    wrong("name", /"out" is not an appsink/, /appsink name=out/),
  ),
  "pipelines: a sink without a name": row(
    FRAMES,
    ({ pipeline }) => pipeline.sink(any(undefined)),
    wrong("name", /expected a string/),
  ),
  "pipelines: a queue of no frames": row(
    FRAMES,
    ({ pipeline }) => pipeline.sink("out", { queue: 0 }),
    wrong("queue", /expected an integer from 1/),
  ),
  "pipelines: drop that is not a boolean": row(
    FRAMES,
    ({ pipeline }) => pipeline.sink("out", { drop: any("oldest") }),
    wrong("drop", /expected a boolean/),
  ),
  "pipelines: a signal that is none": row(
    FRAMES,
    ({ pipeline }) => pipeline.sink("out", { signal: any(new AbortController()) }),
    wrong("signal", /expected an AbortSignal/),
  ),
  "pipelines: two loops over a sink": row(FRAMES, async ({ pipeline }) => {
    await Promise.all([count(pipeline), count(pipeline)]);
  }, {
    fails: {
      ...{ error: InteropError, api: "gstreamer", message: /taken by another loop/, hint: /tee/ },
    },
  }),
  "pipelines: a sink that is never read": row(FRAMES, async ({ pipeline }) => {
    pipeline.sink("out");
    await pipeline.play();
  }),
  "pipelines: a loop that keeps its frames longer than the pipeline": {
    async run() {
      const frames: Frame[] = [];
      using gst = await GStreamerContext.open();
      {
        await using pipeline = gst.launch(FRAMES);
        for await (const frame of pipeline.sink("out")) frames.push(frame);
      }
      say(frames.length, new Set(frames.map(({ planes }) => planes[0].name)).size);
      for (const frame of frames) frame[Symbol.dispose]();
    },
    says: ["9 1"],
  },
  "pipelines: an exception in the loop": row(FRAMES, async ({ pipeline }) => {
    for await (using _ of pipeline.sink("out")) pipeline.sink("nonesuch");
  }, wrong("name", /no element/, /appsink/, "gst_bin_get_by_name")),
  "pipelines: the end of the pipeline in its own loop": row(FRAMES, async ({ pipeline }) => {
    for await (using _ of pipeline.sink("out")) pipeline[Symbol.dispose]();
  }, { fails: { error: DisposedError, api: "core", message: /was disposed/ } }),
  "pipelines: a seek to no time": row(
    FRAMES,
    ({ pipeline }) => pipeline.seek(-1),
    wrong("seconds", /expected seconds from 0/),
  ),
  "pipelines: a seek to no number": row(
    FRAMES,
    ({ pipeline }) => pipeline.seek(any("1:00")),
    wrong("seconds", /expected a number, got a string/),
  ),
  "pipelines: a seek to a bigint": row(
    FRAMES,
    ({ pipeline }) => pipeline.seek(any(1n)),
    wrong("seconds", /expected a number, got a bigint/),
  ),
  "pipelines: a seek of frames that the program writes": row(THROUGH, async (there) => {
    const { pipeline } = there;
    await write(there, GRAY);
    await pipeline.seek(1);
  }, wrong("seconds", /cannot go there/, /camera/, "gst_element_seek")),
  "pipelines: a source that is a sink": row(
    THROUGH,
    ({ pipeline }) => pipeline.source("out", GRAY),
    wrong("name", /"out" is not an appsrc/, /appsrc name=out/),
  ),
  "pipelines: a source of nothing": row(THROUGH, ({ pipeline }) => pipeline.source("in", any(undefined)), {
    fails: { error: ArgumentError, api: "core", argument: "info", message: /expected an object/ },
  }),
  "pipelines: a source of a format that there is not": row(
    THROUGH,
    ({ pipeline }) =>
      pipeline.source("in", {
        ...{ type: "picture", format: "yuv422p10le", width: 16, height: 8 },
        planes: [{ dtype: "u8", elements: 1, step: 1, rows: 1 }],
      }),
    wrong(
      "frame",
      /no format yuv422p10le/,
      /^Convert the picture to one of these: .*Or name its pixels as GStreamer does/,
    ),
  ),
  "pipelines: a frame of the host's written": row(THROUGH, async ({ pipeline }) => {
    using picture = host.allocateFrame(GRAY);
    const writer = pipeline.source("in", GRAY).getWriter();
    writer.closed.catch(() => {});
    await writer.write(any(picture));
  }, wrong("frame", /belongs to host/, /Map it/)),
  "pipelines: a frame written that is another API's object": row(THROUGH, async ({ pipeline }) => {
    using plane = host.allocate({ shape: [8, 16], dtype: "u8" });
    using surface = Frame.of([plane], GRAY, undefined, 5n);
    const writer = pipeline.source("in", GRAY).getWriter();
    writer.closed.catch(() => {});
    await writer.write(any(surface));
  }, wrong("frame", /belongs to host/, /Map it/)),
  "pipelines: no frame written": row(THROUGH, async ({ pipeline }) => {
    const writer = pipeline.source("in", GRAY).getWriter();
    writer.closed.catch(() => {});
    await writer.write(any(new Uint8Array(128)));
  }, wrong("frame", /expected a Frame, got a Uint8Array/, /Frame.of/)),
  "pipelines: a frame written that has ended": row(THROUGH, async ({ pipeline, frame }) => {
    const writer = pipeline.source("in", GRAY).getWriter();
    writer.closed.catch(() => {});
    const ended = frame();
    ended[Symbol.dispose]();
    await writer.write(ended);
  }, { fails: { error: DisposedError, api: "core", message: /was disposed/ } }),
  "pipelines: a frame written while GStreamer has it is read, and not written": {
    async run() {
      using gst = await GStreamerContext.open();
      using graph = new MapperGraph([host, gst]);
      using picture = host.allocateFrame(GRAY);
      await using pipeline = gst.launch("appsrc name=in ! appsink sync=false"); // no frame is taken
      const writer = pipeline.source("in", GRAY).getWriter();
      {
        using mapped = graph.map(picture, gst, { access: "read" }) as Frame<GStreamerTensor>;
        await writer.write(mapped);
      }
      say(picture.planes[0].view({ access: "read" }).length);
      try {
        picture.planes[0].view();
      } finally {
        await pipeline.stop();
      }
    },
    says: ["128"],
    fails: { error: AccessError, api: "core", message: /lent|read/, hint: /stop the pipeline/ },
  },
  "pipelines: a source once the pipeline has begun": row(THROUGH, async (there) => {
    const { pipeline } = there;
    const first = pipeline.source("in", GRAY).getWriter();
    await first.write(there.frame());
    await first.close();
    await count(pipeline);
    await pipeline.ended();
    await write(there, GRAY);
  }, { fails: { error: InteropError, api: "gstreamer", message: /has begun/, hint: /before the first loop/ } }),
  "pipelines: a stream that another took the place of": row(THROUGH, async (there) => {
    const older = there.pipeline.source("in", GRAY).getWriter();
    older.closed.catch(() => {});
    there.pipeline.source("in", GRAY);
    await older.write(there.frame());
  }, {
    fails: { error: InteropError, api: "gstreamer", message: /Another stream writes/, hint: /newest source\(\)/ },
  }),
  "pipelines: an abort without a reason": row(THROUGH, async (there) => {
    const writer = there.pipeline.source("in", GRAY).getWriter();
    await writer.write(there.frame());
    await writer.abort();
    await count(there.pipeline).catch((error) => say(String(error)));
  }, { says: ["AbortError: The source was aborted."] }),
  "pipelines: a ! that is missing": row("videotestsrc appsink name=out", ({ pipeline }) => count(pipeline), {
    fails: {
      error: PipelineError,
      api: "gstreamer",
      code: 1,
      codeName: "gst-stream-error-quark",
      message: /Internal data stream error/,
      hint: /a ! missing/,
    },
  }),
  "pipelines: encoded pictures at a sink": row(
    "videotestsrc num-buffers=1 ! jpegenc ! appsink name=out",
    ({ pipeline }) => count(pipeline),
    wrong("caps", /image\/jpeg: what it holds is not known/, /decodebin/),
  ),
  "pipelines: a stop in the middle of a write": row(
    "appsrc name=in ! identity sleep-time=1000000 ! fakesink",
    async (there) => {
      setTimeout(() => there.pipeline.stop().catch(() => {}), 50);
      await write(there, ...Array<undefined>(20));
    },
    { fails: { error: InteropError, api: "gstreamer", message: /it was stopped/, hint: /source\(\) again/ } },
  ),
  "pipelines: a source that is never ended": row(THROUGH, async (there) => {
    await write(there, GRAY);
    await sleep(5);
  }),
  "pipelines: rows with gaps written": {
    async run() {
      using gst = await GStreamerContext.open();
      using graph = new MapperGraph([host, gst]);
      using wide = host.allocate({ shape: [8, 16, 2], dtype: "u8" });
      await using pipeline = gst.launch(THROUGH);
      using part = wide.slice({ shape: [8, 16], dtype: "u8", strides: [32, 2] });
      using mapped = graph.map(part, gst, { access: "read" });
      const writer = pipeline.source("in", GRAY).getWriter();
      writer.closed.catch(() => {});
      const { Frame } = await import("@samepage/interop");
      using frame = Frame.of([mapped], GRAY) as Frame<GStreamerTensor>;
      await writer.write(frame);
    },
    fails: { error: LayoutError, api: "gstreamer", argument: "frame", message: /gaps within the rows/ },
  },
});
