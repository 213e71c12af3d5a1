import { AccessError, DisposedError, type Frame, host, LayoutError } from "@samepage/interop";
import { type DecodeOptions, FFmpegContext, type FrameMemory } from "@samepage/interop/ffmpeg";
import { any, say } from "../kit.ts";
import { type Failure, failuresOf, type Row, table } from "../row.ts";

/** A picture of two by two pixels, as a PPM file. */
const PICTURE = new Uint8Array([...new TextEncoder().encode("P6\n2 2\n255\n"), ...Array(12).fill(7)]);

/** A row that decodes it. */
function row(options: DecodeOptions, fails?: Failure, use: (frame: Frame) => unknown = () => {}): Row {
  return {
    async run() {
      using ffmpeg = FFmpegContext.open();
      for await (using frame of ffmpeg.decode(PICTURE, options)) await use(frame);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

const { wrong } = failuresOf("ffmpeg");
const unfit = (message: RegExp): Failure => ({ error: LayoutError, api: "ffmpeg", argument: "into", message });
const HINT = /Pass host, cuda\.pinned or dmabuf/;

/** A row whose memory allocates something else. */
const allocates = (allocate: (shape: readonly number[]) => unknown, fails: Failure): Row =>
  row({ into: any({ allocate: ({ shape }: { shape: readonly number[] }) => allocate(shape) }) }, fails);

export default table(import.meta, {
  "into: host": row({ into: host }, undefined, (frame) => {
    if (frame.target !== host) throw new Error("it is FFmpeg's");
  }),
  "into: nothing": row({ into: any(null) }, wrong("into", /expected memory with an allocate\(\), got null/, HINT)),
  "into: a text": row({ into: any("host") }, wrong("into", /expected memory with an allocate\(\), got a string/, HINT)),
  "into: a context that has no memory of its own": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      for await (using frame of ffmpeg.decode(PICTURE, { into: any(ffmpeg) })) say(frame);
    },
    fails: wrong("into", /expected memory with an allocate\(\), got a FFmpegContext/, HINT),
  },
  "into: a function": row(
    { into: any(() => host) },
    wrong("into", /expected memory with an allocate\(\), got a function/, HINT),
  ),
  "into: no slots": row({ into: host, slots: 0 }, wrong("slots", /expected an integer from 1 to 1024, got 0/)),
  "into: slots of nothing": row(
    { slots: 4 },
    wrong("slots", /without into there are no buffers to count/, /leave it out/),
  ),
  "into: half a slot": row({ into: host, slots: 1.5 }, wrong("slots", /expected an integer from 1 to 1024, got 1\.5/)),
  "into: too many slots": row({ into: host, slots: 1e9 }, wrong("slots", /expected an integer from 1 to 1024/)),
  "into: allocates nothing": allocates(() => undefined, wrong("into", /returns a Tensor, got undefined/)),
  "into: allocates a promise": allocates(
    (shape) => Promise.resolve(shape),
    wrong("into", /returns a Tensor, got a Promise/),
  ),
  "into: allocates bytes": allocates(
    (shape) => new Uint8Array(shape[0]),
    wrong("into", /returns a Tensor, got a Uint8/),
  ),
  "into: allocates too little": allocates(
    () => host.allocate({ shape: [64], dtype: "u8" }),
    unfit(/\[64\] u8 is not the \d+ bytes, to read and write/),
  ),
  "into: allocates what can be read only": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      using all = host.allocate({ shape: [1 << 20], dtype: "u8" });
      const into = { allocate: () => all.borrow("read") };
      for await (using frame of ffmpeg.decode(PICTURE, { into })) say(frame);
    },
    fails: unfit(/is not the \d+ bytes, to read and write/),
  },
  "into: allocates what is lent": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      using all = host.allocate({ shape: [1 << 20], dtype: "u8" });
      using lent = all.slice({ shape: [8], dtype: "u8" });
      const into = { allocate: () => all };
      for await (using frame of ffmpeg.decode(PICTURE, { into })) say(frame);
      void lent;
    },
    fails: {
      error: AccessError,
      api: "core",
      message: /cannot be used for "read-write".*slice \[8\] u8/,
      hint: /Dispose that/,
    },
  },
  "into: allocates one memory again and again": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      let one: ReturnType<typeof host.allocate> | undefined;
      const into: FrameMemory = { allocate: (layout) => one ??= host.allocate(layout) };
      for await (using frame of ffmpeg.decode(PICTURE, { into })) say(frame);
    },
    fails: wrong("into", /was allocated before/),
  },
  "into: allocates what has ended": allocates((shape) => {
    const tensor = host.allocate({ shape, dtype: "u8" });
    tensor[Symbol.dispose]();
    return tensor;
  }, { error: DisposedError, api: "core", message: /was disposed/ }),
  "into: a frame after its block": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      let kept: Frame | undefined;
      for await (using frame of ffmpeg.decode(PICTURE, { into: host })) kept = frame;
      kept!.planes[0].assertUsable("read");
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "into: memory that fails": {
    async run() {
      using ffmpeg = FFmpegContext.open();
      const into = { allocate: () => host.allocate({ shape: [-1], dtype: "u8" }) };
      for await (using frame of ffmpeg.decode(PICTURE, { into })) say(frame);
    },
    fails: { error: LayoutError, api: "core", argument: "shape[0]", message: /expected at least 1, got -1/ },
  },
});
