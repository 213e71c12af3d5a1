import { AccessError, DisposedError, type Frame, host, InteropError, LayoutError } from "@samepage/interop";
import { GStreamerContext, type SinkOptions } from "@samepage/interop/gstreamer";
import { any } from "../kit.ts";
import { type Failure, failuresOf, type Row, table } from "../row.ts";

const PICTURES =
  "videotestsrc num-buffers=4 ! video/x-raw,format=GRAY8,width=16,height=8 ! appsink name=out sync=false";

/** A row that takes the frames. */
function row(options: SinkOptions, fails?: Failure, use: (frame: Frame) => unknown = () => {}): Row {
  return {
    async run() {
      using gst = await GStreamerContext.open();
      await using pipeline = gst.launch(PICTURES);
      for await (using frame of pipeline.sink("out", options)) await use(frame);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

const { wrong } = failuresOf("gstreamer");
const late = (message: RegExp): Failure => (
  { error: InteropError, api: "gstreamer", message, hint: /first sink\(\) of this name/ }
);
const HINT = /Pass host, cuda\.pinned or dmabuf/;

/** A row whose memory allocates something else. */
const allocates = (allocate: (shape: readonly number[]) => unknown, fails: Failure, machineCode = true): Row => {
  const into = any({ allocate: ({ shape }: { shape: readonly number[] }) => allocate(shape) });
  return row({ into, machineCode }, fails);
};

export default table(import.meta, {
  "into: host": row({ into: host }, undefined, (frame) => {
    if (frame.target !== host) throw new Error("it is GStreamer's");
    if (frame.regions.length !== 0) throw new Error("nobody has looked for anything");
  }),
  "into: nothing": row({ into: any(null) }, wrong("into", /expected memory with an allocate\(\), got null/, HINT)),
  "into: a function": row(
    { into: any(() => host) },
    wrong("into", /expected memory with an allocate\(\), got a function/, HINT),
  ),
  "into: no slots": row({ into: host, slots: 0 }, wrong("slots", /expected an integer from 1 to 1024, got 0/)),
  "into: slots of nothing": row(
    { slots: 4 },
    wrong("slots", /without into there are no buffers to count/, /leave it out/),
  ),
  "into: machine code that is not a boolean": row(
    { into: host, machineCode: any("no") },
    wrong("machineCode", /expected a boolean, got a string/),
  ),
  "into: rows that begin at pages": row({ into: host, rowAlign: 4096 }, undefined, (frame) => {
    if (frame.planes[0].layout.strides[0] !== 4096) throw new Error("they begin elsewhere");
  }),
  "into: rows that begin at no power of two": row(
    { into: host, rowAlign: 48 },
    { error: LayoutError, api: "core", argument: "rowAlign", message: /expected a power of two, got 48/ },
  ),
  "into: rows further apart than pages": row(
    { into: host, rowAlign: 8192 },
    wrong("rowAlign", /expected an integer from 1 to 4096, got 8192/),
  ),
  "into: rows of no memory": row({ rowAlign: 64 }, wrong("rowAlign", /without into/, /Pass \{ into: host \}/)),
  "into: rows without machine code": row(
    { into: host, rowAlign: 64, machineCode: false },
    wrong("rowAlign", /without machine code/, /leave machineCode out/),
  ),
  "into: allocates nothing": allocates(() => undefined, wrong("into", /returns a Tensor, got undefined/)),
  "into: allocates nothing, without machine code": allocates(
    () => undefined,
    wrong("into", /returns a Tensor, got undefined/),
    false,
  ),
  "into: allocates bytes": allocates(
    (shape) => new Uint8Array(shape[0]),
    wrong("into", /returns a Tensor, got a Uint8/),
  ),
  "into: allocates too little": allocates(
    () => host.allocate({ shape: [64], dtype: "u8" }),
    { error: LayoutError, api: "gstreamer", argument: "into", message: /\[64\] u8 is not the \d+ bytes/ },
  ),
  "into: said of a sink twice": {
    async run() {
      using gst = await GStreamerContext.open();
      await using pipeline = gst.launch(PICTURES);
      pipeline.sink("out", { into: host });
      pipeline.sink("out", { into: host });
    },
    fails: late(/This sink has memory to write to/),
  },
  "into: said once the pipeline plays": {
    async run() {
      using gst = await GStreamerContext.open();
      await using pipeline = gst.launch(PICTURES);
      for await (using _ of pipeline.sink("out")) break;
      pipeline.sink("out", { into: host });
    },
    fails: late(/The pipeline has begun/),
  },
  "into: a block is used while elements write": {
    async run() {
      using gst = await GStreamerContext.open();
      await using pipeline = gst.launch(PICTURES);
      let block: ReturnType<typeof host.allocate> | undefined;
      const allocate = (layout: unknown) => block = host.allocate(layout as Parameters<typeof host.allocate>[0]);
      for await (using _ of pipeline.sink("out", { into: any({ allocate }) })) block!.view();
    },
    fails: { error: AccessError, api: "core", message: /lent/, hint: /Dispose that first/ },
  },
  "into: two pipelines over one block": {
    async run() {
      using gst = await GStreamerContext.open();
      await using first = gst.launch(PICTURES);
      await using second = gst.launch(PICTURES);
      let block: ReturnType<typeof host.allocate> | undefined;
      const allocate = (layout: unknown) => block ??= host.allocate(layout as Parameters<typeof host.allocate>[0]);
      const options = { into: any({ allocate }), slots: 1 };
      for await (using _first of first.sink("out", options)) {
        for await (using _second of second.sink("out", options)) continue;
      }
    },
    fails: { error: AccessError, api: "core", message: /lent/, hint: /Dispose that first/ },
  },
  "into: the memory ends while elements write": {
    async run() {
      using gst = await GStreamerContext.open();
      const pipeline = gst.launch(PICTURES);
      let block: ReturnType<typeof host.allocate> | undefined;
      const allocate = (layout: unknown) => block = host.allocate(layout as Parameters<typeof host.allocate>[0]);
      for await (using _ of pipeline.sink("out", { into: any({ allocate }) })) {
        await block![Symbol.asyncDispose](); // which ends the pipeline first
        break;
      }
      await pipeline.play();
    },
    fails: { error: DisposedError, api: "core", message: /pipeline was disposed with host tensor/ },
  },
});
