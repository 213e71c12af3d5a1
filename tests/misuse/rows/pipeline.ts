import { AccessError, ArgumentError, type Frame, host, type HostTensor, imageInfo } from "@samepage/interop";
import { FrameRing } from "@samepage/interop/channel";
import {
  convert,
  copy,
  crop,
  Flow,
  fromRing,
  join,
  jsonLines,
  latest,
  pace,
  pictureInput,
  Pipeline,
  pipeline,
  rate,
  Sink,
  Source,
  StageError,
  svgOf,
  tee,
  toRing,
  Transform,
  viewer,
} from "@samepage/interop/pipeline";
import { any, fails, OwnError, say, settled } from "../kit.ts";
import { type Failure, failuresOf, table } from "../row.ts";

const { wrong } = failuresOf("pipeline");

/** What a stage throws, or does not take. */
const stage = (message: RegExp, hint?: RegExp, argument?: string): Failure => ({
  ...{ error: StageError, api: "pipeline", message },
  ...hint && { hint },
  ...argument !== undefined && { argument },
});

function picture(value = 1): Frame<HostTensor> {
  const frame = host.allocateFrame(imageInfo({ format: "GRAY8", width: 8, height: 4 }));
  frame.planes[0].bytes().fill(value);
  return frame;
}

function source(count = 3): Source {
  return new Source({
    name: "pictures",
    async *frames() {
      for (let i = 1; i <= count; i++) yield await Promise.resolve(picture(i));
    },
  });
}

const sink = () => new Sink({ name: "nowhere", takes: { memory: host }, write: () => {} });
const inPlace = (process: (frame: Frame<HostTensor>) => unknown): Transform<HostTensor> =>
  new Transform<HostTensor>({ name: "mine", takes: { memory: host }, process: any(process) });
const runs = (...stages: Parameters<typeof pipeline>) => ({ run: () => pipeline(...stages).run() });

export default table(import.meta, {
  "no source": { run: () => pipeline(any(undefined)), fails: wrong("stages", /a source of frames/) },
  "a transform as the source": {
    run: () => pipeline(any(copy()), sink()),
    fails: wrong("stages", /a source of frames at the beginning, got a Transform/),
  },
  "a stage that is none": {
    run: () => pipeline(source(), any({ process() {} }), sink()),
    fails: wrong("stages", /a stage, or a stream of frames/),
  },
  "a function as a stage": {
    run: () => source().pipeThrough(any(() => {})),
    fails: wrong("stages", /a stage, or a stream of frames/),
  },
  "a proxy of a stage": {
    run: () => pipeline(source(), any(new Proxy(copy(), {})), sink()),
    fails: wrong("stages", /a stage, or a stream of frames/),
  },
  "two sources": {
    run: () => pipeline(source(), any(source()), sink()),
    fails: wrong("stages", /a stage, or a stream of frames, got a Source/, /one source, .* join\(\)/),
  },
  "a sink in the middle": {
    run: () => pipeline(source(), sink(), sink()),
    fails: wrong("stages", /nowhere is a sink, and not the last stage/, /Put it last; tee\(/),
  },
  "stages behind a sink": {
    run: () => pipeline(source(), sink()).pipeThrough(copy()),
    fails: wrong("stages", /is a sink/, /Put it last; tee\(/),
  },
  "a sink where frames are to come out": {
    run() {
      fails("a source", () => source().pipeThrough(any(sink())), ArgumentError);
      fails("a stream", () => source().pipeThrough(any(new WritableStream())), ArgumentError);
      pipeline(source(), copy()).pipeThrough(any(sink()));
    },
    fails: wrong("stages", /no frames come out of a sink/, /pipeTo/),
  },
  "a loop over a pipeline with a sink": {
    run: () => Array.fromAsync(pipeline(source(), sink())),
    fails: wrong("stages", /no frames come out/, /pipeline\.run/),
  },
  "a stream of a pipeline with a sink": {
    run: () => pipeline(source(), sink()).readable.getReader().read(),
    fails: wrong("stages", /no frames come out/, /pipeline\.run/),
  },
  "no frames in flight": {
    run: () => pipeline(source(), { frames: 0 }),
    fails: wrong("frames", /from 1 to 1024, got 0/),
  },
  "an unknown option": {
    run: () => pipeline(source(), any({ frame: 4 })),
    fails: { ...wrong("options", /unknown property frame/, /frames, copy/), api: "core" },
  },
  "a signal that is none": {
    run: () => pipeline(source(), { signal: any(new AbortController()) }),
    fails: wrong("signal", /an AbortSignal/),
  },
  "copies that are half allowed": {
    run: () => pipeline(source(), { copy: any("sometimes") }),
    fails: wrong("copy", /"never", "allow"/),
  },
  "a stage without a name": {
    run: () => new Source(any({ frames() {} })),
    fails: wrong("name", /a string, got undefined/),
  },
  "a transform that does nothing": {
    run: () => new Transform(any({ name: "lazy" })),
    fails: wrong("process", /a function, got undefined/),
  },
  "a flow without a function": { run: () => new Flow(any({ name: "x", flow: 1 })), fails: wrong("flow", /a function/) },
  "a sink without a function": { run: () => new Sink(any({ name: "x" })), fails: wrong("write", /a function/) },
  "memory that is none": {
    run: () => new Sink({ name: "x", takes: { memory: any({}) }, write: () => {} }),
    fails: wrong("takes.memory", /contexts, or kinds/, /host, cl/),
  },
  "no work at a time": {
    run: () => new Transform({ name: "x", process: () => {}, concurrency: 0 }),
    fails: wrong("concurrency", /from 1 to 1024/),
  },
  "a source that gives no frames": {
    ...runs(any(ReadableStream.from([1, 2])), sink()),
    fails: stage(/source: expected it to give frames/),
  },
  "a source that gives dead frames": {
    run() {
      const frame = picture();
      frame[Symbol.dispose]();
      return pipeline(any(ReadableStream.from([frame])), sink()).run();
    },
    fails: stage(/it passed on .*, which was disposed/, /disposes what a stage gets/),
  },
  "a stage that throws": {
    run: async () => {
      const whole = pipeline(source(), inPlace(() => Promise.reject(new OwnError("mine"))), sink());
      say(await settled(whole.run()), whole.figures?.frames);
    },
    says: ["StageError 0"],
  },
  "a stage that throws no error": {
    ...runs(source(), inPlace(() => Promise.reject("text")), sink()),
    fails: stage(/^mine: text/),
  },
  "a stage that disposes its input": {
    ...runs(source(), inPlace((frame) => frame[Symbol.dispose]()), sink()),
    fails: stage(/mine: it disposed/, /disposes what a stage gets/),
  },
  "pixels of another format": {
    ...runs(source(), new Transform({ name: "rgb", takes: { format: ["RGB", "BGR"] }, process: () => {} })),
    fails: stage(/rgb: expected RGB or BGR, got GRAY8 8 × 4/, /convert\(/, "takes"),
  },
  "a size that it does not take": {
    ...runs(source(), new Transform({ name: "big", takes: { width: [100, 200] }, process: () => {} })),
    fails: stage(/big: expected pictures of 100 to 200 × any/, /convert\(/, "takes"),
  },
  "an output that is not a frame": {
    ...runs(source(), new Transform({ name: "x", gives: () => any({ type: "image" }), process: () => {} })),
    fails: stage(/x: format: expected a pixel format/, /Use one of/),
  },
  "an output that is nothing": {
    ...runs(source(), new Transform({ name: "x", gives: () => any(undefined), process: () => {} })),
    fails: stage(/x: gives: expected what the frames are: imageInfo/),
  },
  "formats that no frame has": {
    run() {
      fails("none", () => new Sink({ name: "x", takes: { format: [] }, write: () => {} }), ArgumentError);
      fails("a number", () => new Sink({ name: "x", takes: { format: any(5) }, write: () => {} }), ArgumentError);
      new Sink({ name: "x", takes: { format: "nv12" }, write: () => {} });
    },
    fails: wrong("takes.format", /no frame is of "nv12"/, /"NV12"/),
  },
  "a branch without a sink": {
    run() {
      fails("nothing", () => tee([]), ArgumentError);
      tee([sink()], [copy()]);
    },
    fails: wrong("branches", /expected a sink at the end of each branch/, /tee\(\[/),
  },
  "a writer behind tee()": {
    ...runs(source(), tee([inPlace(() => {}), sink()], [sink()])),
    fails: stage(/^mine: it writes, and .* can only be read/, /copy\(\)/),
  },
  "tee() with a source in it": {
    run: () => tee([any(source()), sink()]),
    fails: wrong("stages", /a stage, or a stream of frames, got a Source/, /one source, .* join\(\)/),
  },
  "a part beyond the picture": {
    ...runs(source(), crop({ x: 4, y: 0, width: 8, height: 4 }), sink()),
    fails: stage(/crop: a part of 8 × 4 at 4, 0 does not lie in 8 × 4/, /x \+ width/),
  },
  "a part of no width": {
    run: () => crop({ x: 0, y: 0, width: 0, height: 4 }),
    fails: wrong("width", /from 1 to/),
  },
  "rates that are none": {
    run() {
      for (const make of [() => rate(0), () => rate(any("x")), () => pace(-1)]) fails("rate", make, ArgumentError);
    },
  },
  "frames without a time to join them by": {
    ...runs(source(), join(source(), { combine: () => {} }), sink()),
    fails: stage(/has no time to join it by/, /frame\.metadata\.set/),
  },
  "join() without a function": {
    run: () => join(source(), any({})),
    fails: wrong("combine", /a function, got undefined/),
  },
  "a ring for frames that lie elsewhere": {
    ...runs(source(), toRing(FrameRing, "/tmp/samepage-none")),
    fails: stage(/does not lie in the ring's memory/, /copy\(\)/),
  },
  "options of rings that they have not": {
    run() {
      fails("frames", () => toRing(FrameRing, "/tmp/none", { frames: 1 }), ArgumentError);
      fails("join", () => toRing(FrameRing, "/tmp/none", { join: any("yes") }), ArgumentError);
      fails("memory", () => toRing(FrameRing, "/tmp/none", { memory: any("cuda") }), ArgumentError);
      fails("memory", () => toRing(FrameRing, "/tmp/none", { memory: any(null) }), ArgumentError);
      fails("frame", () => toRing(FrameRing, "/tmp/none", any({ frame: 4 })), ArgumentError);
      fromRing(FrameRing, "/tmp/none", any({ retry: true }));
    },
    fails: { ...wrong("options", /unknown property retry/, /contexts, wait, reconnect/), api: "core" },
  },
  "a ring that is not there": {
    run: () => Array.fromAsync(fromRing(FrameRing, "/tmp/samepage-not-there")),
    fails: stage(/from ring: /, /.*/),
  },
  "a stream that is locked": {
    run() {
      const { writable } = new TransformStream<Uint8Array>();
      writable.getWriter();
      jsonLines(writable);
    },
    fails: wrong("out", /the stream is locked/, /releaseLock/),
  },
  "an input's options": {
    run() {
      for (
        const wrong of [{ format: "NV12" }, { layout: "CHW" }, { mean: ["1"] }, { scale: 0 }, { scale: [1, 0, 1] }]
      ) {
        fails(JSON.stringify(wrong), () => pictureInput(any({ api: "opencl" }), any(wrong)), ArgumentError);
      }
      return pictureInput(any({ api: "opencl" }), any({ means: 1 }));
    },
    fails: { ...wrong("options", /unknown property means/, /mean, scale/), api: "core" },
  },
  "an input's scale of which one is 0": {
    run: () => pictureInput(any({ api: "opencl" }), { scale: [1, 0, 1] }),
    fails: wrong("scale[1]", /expected a finite number other than 0, got 0/),
  },
  "a context of another API": {
    run() {
      const input = () => pictureInput(any(host));
      for (const make of [() => convert(any(host), { format: "NV12" }), () => viewer(any(host)), input]) {
        fails("another context", make, ArgumentError);
      }
      return convert(any(undefined), {});
    },
    fails: wrong("cl", /a context of opencl, got undefined/, /Open one/),
  },
  "sums before and after a run": {
    async run() {
      const whole = pipeline(source(), copy());
      const plan = await whole.explain();
      say(plan.bytesMoved, plan.byteLength, plan.hostWaits, plan.toString().split("\n").length);
      await pipeline(source(), copy()).pipeTo(sink());
      await whole.run();
      const { bytesMoved, rate } = whole.figures ?? { bytesMoved: 0, rate: 0 };
      say(bytesMoved, rate >= 0);
      await whole[Symbol.asyncDispose]();
    },
    says: ["200 800 0 3", "600 true"],
  },
  "a picture of no plan": {
    run: () => svgOf(any({})),
    fails: wrong("plan", /a Plan/),
  },
  "a frame that a program uses while the pipeline has it": {
    async run() {
      const kept: Frame<HostTensor>[] = [];
      const thief = inPlace((frame) => void kept.push(frame));
      await pipeline(source(), latest(), thief, sink()).run();
      fails("a dead frame", () => kept[0].planes[0].bytes());
      say(kept.length > 0);
    },
    says: ["true"],
  },
  "two loops over one pipeline": {
    async run() {
      const whole = pipeline(source(2));
      const values: number[] = [];
      for (let loop = 0; loop < 2; loop++) {
        for await (using frame of whole) values.push(Number((frame.planes[0] as HostTensor).bytes()[0]));
      }
      say(values.join(" "));
    },
    says: ["1 2 1 2"],
  },
  "dispose in the middle of a plan": {
    async run() {
      const whole = pipeline(source(), copy(), sink());
      const planned = whole.explain();
      await whole[Symbol.asyncDispose]();
      say(await settled(planned));
      say(await settled(whole.run()), whole.figures?.frames);
    },
    says: ["DisposedError", "ok 3"],
  },
  "pipeTo() a stream that fails": {
    async run() {
      const stream = new WritableStream({ write: () => Promise.reject(new OwnError("full")) });
      say(await settled(source().pipeTo(stream)), await settled(source().pipeTo(sink())));
    },
    says: ["StageError ok"],
  },
  "words about a pipeline": {
    async run() {
      const whole = new Pipeline(pipeline(source(), copy(), sink()).stages, {});
      say(String(whole));
      const plan = await whole.explain();
      const { stages } = JSON.parse(JSON.stringify(await whole.run()));
      say(JSON.parse(JSON.stringify(plan)).handOvers.length, stages.length, String(whole.figures).split("\n").length);
      say(String(source()), String(copy()), String(sink()), String(latest()));
    },
    says: ["pipeline pictures → copy → nowhere", "3 3 4", "source pictures transform copy sink nowhere flow latest"],
  },
  "a view of a frame that went on": {
    async run() {
      let view: Uint8Array | undefined;
      const look = inPlace((frame) => void (view = frame.planes[0].bytes() as Uint8Array));
      await pipeline(source(1), look, sink()).run();
      say(view!.byteLength);
    },
    says: ["0"],
  },
  "a write through a tee's branch": {
    async run() {
      const writes = new Transform<HostTensor>({
        ...{ name: "sly", takes: { memory: host, access: "read" as const } },
        process: (frame) => void frame.planes[0].bytes({ access: "read-write" }).fill(9),
      });
      const error = await pipeline(source(1), tee([writes, sink()])).run().catch((error) => error);
      say(error.stage, error.cause instanceof AccessError);
    },
    says: ["sly true"],
  },
});
