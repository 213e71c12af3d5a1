import {
  AccessError,
  ArgumentError,
  DisposedError,
  type Frame,
  host,
  type HostTensor,
  imageInfo,
  NativeCallError,
} from "@samepage/interop";
import { connect, FrameRing, MessageError, type RingReader, type RingWriter } from "@samepage/interop/channel";
import { any, fails, outcome, say } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

type HostFrame = Frame<HostTensor>;

let paths = 0;

/** A path that no other program has. */
function freshPath(): string {
  return `/tmp/samepage-misuse-ring-${Deno.pid}-${++paths}`;
}

const INFO = imageInfo({ format: "GRAY8", width: 64, height: 64 });

const sharable = () => host.allocateFrame(INFO, { sharable: true });

/** A program that has a ring and a reader of it. */
function withRing(
  use: (ring: RingWriter<HostFrame>, reader: RingReader<HostFrame>) => unknown,
): Pick<Row, "run"> {
  return {
    async run() {
      await using ring = FrameRing.create(freshPath(), { frames: [sharable(), sharable()] });
      await using reader = await FrameRing.open<HostFrame>(ring.path, { contexts: [host] });
      await ring.joined();
      await use(ring, reader);
    },
  };
}

/** The error of a promise. */
async function rejects(what: string, action: () => Promise<unknown>, ...kinds: Parameters<typeof fails>[2][]) {
  const error = await action().then(() => undefined, (error) => error);
  fails(what, () => {
    if (error !== undefined) throw error;
  }, ...kinds);
}

/** The error of an argument. */
const wrong = (argument: string, message: RegExp): Failure => ({
  ...{ error: ArgumentError, api: "channel", argument, message },
});

export default table(import.meta, {
  "invalid frames": {
    run() {
      using one = sharable();
      using other = host.allocateFrame(imageInfo({ format: "GRAY8", width: 32, height: 64 }), { sharable: true });
      using tensor = host.allocate({ shape: [64, 64], dtype: "u8", sharable: true });
      for (const frames of [undefined, null, 5, "ab", [], [one], [one, one], [one, 1], [one, other], [one, tensor]]) {
        fails(String(frames), () => FrameRing.create(freshPath(), { frames: any(frames) }), ArgumentError);
      }
    },
  },
  "frames without an fd": {
    run() {
      using one = host.allocateFrame(INFO);
      using other = host.allocateFrame(INFO);
      FrameRing.create(freshPath(), { frames: [one, other] });
    },
    fails: { ...wrong("frames[0]", /has no fd/), hint: /sharable: true/ },
  },
  "frames that are lent": {
    run() {
      using one = sharable();
      using other = sharable();
      using _lent = other.borrow("read-write");
      FrameRing.create(freshPath(), { frames: [one, other] });
    },
    fails: { error: AccessError, api: "core", argument: "frames[1]", message: /lent/, hint: /Dispose that first/ },
  },
  "another whenFull": {
    run: () => FrameRing.create(freshPath(), { frames: [], whenFull: any("drop-newest") }),
    fails: wrong("whenFull", /expected one of "wait", "drop-oldest", got "drop-newest"/),
  },
  "an option that there is not": {
    run: () => FrameRing.create(freshPath(), any({ frames: [], drop: true })),
    fails: {
      error: ArgumentError,
      api: "core",
      argument: "options",
      message: /unknown property drop/,
      hint: /whenFull/,
    },
  },
  "two rings at one path": {
    ...withRing((ring) => {
      using one = sharable();
      using other = sharable();
      FrameRing.create(ring.path, { frames: [one, other] });
    }),
    fails: { ...wrong("path", /is in use: a process listens there/), hint: /another path/ },
  },
  "a ring without a listener": {
    run: () => FrameRing.open("/tmp/samepage-nobody", { contexts: [host] }),
    fails: {
      ...{ error: NativeCallError, api: "channel", fn: "connect", code: 2, codeName: "ENOENT" },
      message: /ENOENT/,
      hint: /listen/,
    },
  },
  "a ring without a context for its memory": {
    run: () => FrameRing.open("/tmp/samepage-nobody", {}), // no process listens there, which it does not find out
    fails: { ...wrong("contexts", /expected one or more/), hint: /\{ contexts: \[host\] \}/ },
  },
  "a ring as a channel": {
    ...withRing(async (ring) => {
      using peer = connect(ring.path, { contexts: [host] });
      await rejects("receive", () => peer.receive(), MessageError);
    }),
  },
  "what is not the ring's, published": {
    ...withRing(async (ring, reader) => {
      using other = sharable();
      for (const frame of [other, undefined, null, 5, {}]) await rejects("publish", () => ring.publish(any(frame)));
      const frame = await ring.next();
      await rejects("a timestamp", () => ring.publish(frame, { timestamp: any(5) }), ArgumentError);
      await ring.publish(frame);
      await rejects("again", () => ring.publish(frame), ArgumentError);
      using shown = (await reader.next())!;
      await rejects("what was read", () => ring.publish(shown), ArgumentError);
      say(ring.readers, reader.sequence, reader.missed, reader.credentials?.pid === Deno.pid);
    }),
    says: ["1 1 0 true"],
  },
  "a frame after it was published": {
    ...withRing(async (ring) => {
      const frame = await ring.next();
      const view = frame.planes[0].view();
      await ring.publish(frame);
      say(view.length, outcome(() => frame.planes[0].view()));
    }),
    says: ["0 DisposedError"],
  },
  "a frame that is read, written": {
    ...withRing(async (ring, reader) => {
      await ring.publish(await ring.next());
      using shown = (await reader.next())!;
      say(outcome(() => shown.planes[0].view({ access: "write" })), outcome(() => shown.borrow("read-write")));
    }),
    says: ["AccessError access AccessError access"],
  },
  "a frame that was released": {
    ...withRing(async (ring, reader) => {
      await ring.publish(await ring.next());
      let kept: HostFrame | undefined;
      for await (const frame of reader) {
        kept = frame;
        break;
      }
      say(outcome(() => kept!.planes[0].view()));
    }),
    says: ["DisposedError"],
  },
  "a stream of a reader whose ring is disposed": {
    ...withRing(async (ring, reader) => {
      const stream = reader.readable.getReader();
      const asked = stream.read();
      reader[Symbol.dispose]();
      say((await asked).done, (await stream.read()).done);
      ring[Symbol.dispose]();
    }),
    says: ["true true"],
  },
  "a stream of other things": {
    ...withRing(async (ring) => {
      const stream = ring.writable.getWriter();
      await rejects("write", () => stream.write(any("frame")), ArgumentError);
    }),
  },
  "invalid signals": {
    ...withRing(async (ring, reader) => {
      const none = { signal: any<AbortSignal>(5) };
      for (
        const wait of [() => ring.next(none), () => ring.joined(none), () => ring.flush(none), () => ring.end(none)]
      ) {
        await rejects("ring", wait, ArgumentError);
      }
      await rejects("reader", () => reader.next(none), ArgumentError);
      await rejects("open", () => FrameRing.open(ring.path, none), ArgumentError);
    }),
  },
  "a ring that was disposed": {
    ...withRing(async (ring, reader) => {
      ring[Symbol.dispose]();
      for (const wait of [() => ring.next(), () => ring.joined()]) await rejects("ring", wait, DisposedError);
      await ring.flush();
      await ring.end();
      say(String(await reader.next()));
      reader[Symbol.dispose]();
      await rejects("reader", () => reader.next(), DisposedError);
      for await (const frame of reader) say(frame);
    }),
    says: ["undefined"],
  },
});
