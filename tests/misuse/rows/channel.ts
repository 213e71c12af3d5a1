import {
  AccessError,
  ArgumentError,
  DisposedError,
  Frame,
  host,
  type HostTensor,
  LayoutError,
  NativeCallError,
  Port,
} from "@samepage/interop";
import { type ChannelOptions, connect, listen, MessageError, type Peer, Server } from "@samepage/interop/channel";
import { any, collect, fails, grey, judge, open, opening, OwnError, say, settled, sleep } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

let paths = 0;

/** A path that no other program has. */
function freshPath(): string {
  return `/tmp/samepage-misuse-${Deno.pid}-${++paths}`;
}

function sharable(): HostTensor<"u8"> {
  return host.allocate({ shape: [64], dtype: "u8", sharable: true });
}

/** A program that has two ends of a channel. */
function withEnds(
  use: (one: Peer, other: Peer, server: Server) => unknown,
  options: ChannelOptions = { contexts: [host] },
): Pick<Row, "run"> {
  return {
    async run() {
      using server = listen(freshPath(), options);
      using one = connect(server.path, options);
      using other = await server.accept();
      await use(one, other, server);
    },
  };
}

/** The error of an argument. */
const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => ({
  ...{ error: ArgumentError, api: "channel", argument, message },
  ...(hint === undefined ? {} : { hint }),
});

/** What a disposed channel throws. */
const ended = (what: string): Failure => ({
  error: DisposedError,
  api: "core",
  message: new RegExp(`^channel ${what} .* was disposed`),
});

export default table(import.meta, {
  "an invalid port": {
    ...withEnds((one) => one.sendPort(any({ fd: 0 }))),
    fails: wrong("port", /expected a Port, got an Object/),
  },
  "a port without an fd": {
    ...withEnds((one) => one.sendPort(new Port("cl_mem", { value: 5n }))),
    fails: wrong("port", /it has no fd/, /Only handles that are fds/),
  },
  "a port of a kind that is not a text": {
    ...withEnds((one) => one.receivePort(any(5))),
    fails: wrong("kind", /expected a string, got a number/),
  },
  "a port where another is expected": {
    ...withEnds(async (one, other) => {
      using tensor = sharable();
      using port = new Port("memfd", { fd: tensor.exportFd() });
      await one.sendPort(port);
      await other.receivePort("egl-stream");
    }),
    fails: { error: MessageError, api: "channel", argument: "kind", message: /a port of "egl-stream", got .* "memfd"/ },
  },
  "a port where memory is expected": {
    ...withEnds(async (one, other) => {
      using tensor = sharable();
      using port = new Port("memfd", { fd: tensor.exportFd() });
      await one.sendPort(port);
      await other.receive();
    }),
    fails: { error: MessageError, api: "channel", argument: "kind", message: /use receivePort/ },
  },
  "invalid paths": {
    run() {
      const none = [undefined, null, 5, {}, "", "\0hidden", "a\0b", `/tmp/${"x".repeat(104)}`];
      for (const path of none) {
        fails(String(path), () => listen(any(path)), ArgumentError);
        fails(String(path), () => connect(any(path)), ArgumentError);
        fails(String(path), () => new Server(any(path), {}), ArgumentError);
      }
      listen(`/tmp/${"ö".repeat(52)}`);
    },
    fails: wrong("path", /expected at most 107 bytes, got 109/, /shorter path/),
  },
  "a path where somebody listens": {
    run() {
      using server = listen(freshPath());
      listen(server.path);
    },
    fails: wrong("path", /is in use: a process listens there/, /Choose another path/),
  },
  "a path on which no process listens": {
    run() {
      using server = listen(freshPath());
      server[Symbol.dispose]();
      server[Symbol.dispose]();
      connect(server.path);
    },
    fails: {
      error: NativeCallError,
      ...{ api: "channel", fn: "connect", code: 2, codeName: "ENOENT" },
      message: /connect failed with ENOENT/,
      hint: /Does a process listen .*Start it first/,
    },
  },
  "a path in a folder that does not exist": {
    run: () => listen("/nonexistent/frames"),
    fails: {
      error: NativeCallError,
      ...{ api: "channel", fn: "bind", code: 2, codeName: "ENOENT" },
      message: /bind failed/,
      hint: /no folder \/nonexistent/,
    },
  },
  "options of a wrong kind": {
    run() {
      const path = freshPath();
      for (
        const options of [
          null,
          5,
          { context: [host] },
          { contexts: host },
          { contexts: [null] },
          { contexts: [{ targets: [null] }] },
          { contexts: [{ targets: [{}] }] },
          { allow: true },
        ]
      ) {
        fails(Deno.inspect(options), () => listen(path, any(options)), ArgumentError);
        fails(Deno.inspect(options), () => connect(path, any(options)), ArgumentError);
      }
      listen(path, { contexts: [any({ targets: 5 })] });
    },
    fails: wrong("contexts[0]", /expected a context, got an Object/),
  },
  "anything but a tensor": {
    ...withEnds(async (one) => {
      using tensor = sharable();
      for (const none of [undefined, null, 5, {}, new Uint8Array(64), one, new Proxy(tensor, {})]) {
        await one.send(any(none)).then(() => say("sent"), (error) => judge("send", error, [ArgumentError]));
      }
      await one.send(any([tensor]));
    }),
    fails: wrong("frame", /expected a tensor or a frame, got an Array/),
  },
  "an array in place of a tensor": {
    ...withEnds((one) => one.send(any(new Uint8Array(4)))),
    fails: { ...wrong("frame", /expected a tensor or a frame, got a Uint8Array/), hint: /host\.wrap\(\)/ },
  },
  "invalid options of a wait": {
    ...withEnds(async (one, other, server) => {
      using tensor = sharable();
      for (const none of [null, 5, { signals: 1 }, { signal: 5 }, { signal: new AbortController() }]) {
        await one.send(tensor, any(none)).catch((error) => judge("send", error, [ArgumentError]));
        await other.receive(any(none)).catch((error) => judge("receive", error, [ArgumentError]));
        await server.accept(any(none)).catch((error) => judge("accept", error, [ArgumentError]));
      }
      await one.send(tensor, { access: any("append") });
    }),
    fails: { error: ArgumentError, api: "core", argument: "access", message: /expected/ },
  },
  "memory that has no fd": {
    ...withEnds(async (one) => {
      using tensor = host.allocate({ shape: [64], dtype: "u8" });
      await one.send(tensor);
    }),
    fails: wrong("frame", /has no fd/, /sharable: true/),
  },
  "an unknown kind of fd": {
    ...withEnds(async (one) => {
      using tensor = sharable();
      await one.send(tensor, { as: any("cuda-ipc") });
    }),
    fails: {
      ...{ error: ArgumentError, api: "core", argument: "as" },
      message: /expected "dma-buf" or "memfd" or "opaque-fd", got "cuda-ipc"/,
    },
  },
  "a kind of fd that the memory has not": {
    ...withEnds(async (one) => {
      using tensor = sharable();
      await one.send(tensor, { as: "opaque-fd" });
    }),
    fails: wrong("frame", /host exports nothing as "opaque-fd"/, /sharable: true/),
  },
  "memory of an API that exports nothing": {
    opencl: true,
    async run() {
      using cl = open();
      using tensor = cl.allocate({ shape: [64], dtype: "u8" });
      await withEnds((one) => one.send(tensor)).run();
    },
    fails: wrong("frame", /exports nothing that another process could open/, /sharable: true/),
  },
  "what is lent, and more access than there is": {
    ...withEnds(async (one) => {
      using tensor = sharable();
      using reading = tensor.borrow("read");
      say(await settled(one.send(reading, { access: "write" })));
      say(await settled(one.send(tensor, { access: "read-write" })));
      reading[Symbol.dispose]();
      using _writing = tensor.borrow("read-write");
      await one.send(tensor);
    }),
    says: ["AccessError access", "AccessError"],
    fails: {
      error: AccessError,
      api: "core",
      message: /cannot be used for "read": .* are lent/,
      hint: /Dispose that first/,
    },
  },
  "a tensor that was disposed": {
    ...withEnds(async (one) => {
      const tensor = sharable();
      tensor[Symbol.dispose]();
      await one.send(tensor);
    }),
    fails: { error: DisposedError, api: "core", message: /host tensor \[64\] u8 was disposed/ },
  },
  "a tensor that is disposed while its send waits for work": {
    ...withEnds(async (one) => {
      const tensor = sharable();
      using event = opening();
      tensor.usedBy(event.fence);
      const sending = one.send(tensor);
      sending.catch(() => {});
      const disposing = tensor[Symbol.asyncDispose]();
      await event.complete();
      await disposing;
      say(await settled(sending));
    }),
    says: ["DisposedError"],
  },
  "a tensor whose work failed": {
    ...withEnds(async (one) => {
      const tensor = sharable();
      using event = opening();
      tensor.usedBy(event.fence);
      const sending = one.send(tensor);
      await event.fail();
      for (const waiting of [sending, tensor[Symbol.asyncDispose]()]) {
        await waiting.then(() => say("well"), (error) => say(error instanceof OwnError));
      }
    }),
    says: ["true", "true"],
  },
  "use of a peer after its end": {
    ...withEnds(async (one) => {
      using tensor = sharable();
      one[Symbol.dispose]();
      one[Symbol.dispose]();
      await one[Symbol.asyncDispose]();
      say(await settled(one.send(tensor)), (await Array.fromAsync(one)).length);
      await one.receive();
    }),
    says: ["DisposedError 0"],
    fails: ended("to process"),
  },
  "use of a server after its end": {
    ...withEnds(async (one, other, server) => {
      server[Symbol.dispose]();
      say((await Array.fromAsync(server)).length);
      using tensor = sharable();
      await one.send(tensor);
      using received = await other.receive(); // peers stay
      say(received?.name);
      await server.accept();
    }),
    says: ["0", "host tensor [64] u8"],
    fails: ended("at"),
  },
  "a dispose in the middle of every wait": {
    ...withEnds(async (one, other, server) => {
      const waits = [other.receive(), other.receive(), server.accept(), Array.fromAsync(one)].map(settled);
      await sleep(5);
      for (const end of [one, other, server]) end[Symbol.dispose]();
      say((await Promise.all(waits)).join());
    }),
    says: ["DisposedError,DisposedError,DisposedError,ok"],
  },
  "a send to who has ended": {
    ...withEnds(async (one, other) => {
      other[Symbol.dispose]();
      using tensor = sharable();
      await one.send(tensor);
    }),
    fails: {
      error: NativeCallError,
      ...{ api: "channel", fn: "sendmsg", code: 32, codeName: "EPIPE" },
      message: /sendmsg failed with EPIPE/,
      hint: /The other side has ended/,
    },
  },
  "a side that imports nothing": {
    ...withEnds(async (one, other) => {
      using tensor = sharable();
      await one.send(tensor);
      try {
        await other.receive();
      } finally {
        say(other.resource.state, await settled(one.send(tensor)));
      }
    }, {}),
    says: ["freed NativeCallError EPIPE"],
    fails: {
      error: MessageError,
      api: "channel",
      argument: "memory",
      message: /no context of this side imports "memfd": pass \{ contexts: \[host\] \}/,
    },
  },
  "a loop that is left in the middle": {
    ...withEnds(async (one, other, server) => {
      using tensor = sharable();
      for (let i = 0; i < 3; i++) await one.send(tensor);
      for await (const received of other) {
        received[Symbol.dispose]();
        break;
      }
      using _second = await other.receive();
      using _third = await other.receive();
      using _client = connect(server.path);
      for await (using _peer of server) break;
      say(other.resource.state, server.resource.state);
    }),
    says: ["live live"],
  },
  "a hundred sends and receives at once": {
    ...withEnds(async (one, other) => {
      using frame = host.allocateFrame(grey(8, 8), { sharable: true });
      const receiving = Array.from({ length: 100 }, () => other.receive());
      await Promise.all(Array.from({ length: 100 }, (_, i) => {
        frame.metadata.set("source", { sequence: i });
        return one.send(frame);
      }));
      const received = await Promise.all(receiving);
      say(received.every((each, i) => each instanceof Frame && each.metadata.get("source")?.sequence === i));
      for (const each of received) each![Symbol.dispose]();
    }),
    says: ["true"],
  },
  "a writer on either side": {
    ...withEnds(async (one, other) => {
      using tensor = sharable();
      await one.send(tensor, { access: "read-write" });
      using received = await other.receive();
      using _writing = received!.borrow("read-write");
      tensor.view();
    }),
    fails: {
      error: AccessError,
      api: "core",
      message: /cannot be used for "read-write": .* are lent/,
      hint: /Dispose/,
    },
  },
  "metadata that no message can hold": {
    ...withEnds(async (one) => {
      using frame = host.allocateFrame(grey(8, 8), { sharable: true });
      frame.metadata.set("mine", { text: "x".repeat(80_000) });
      await one.send(frame);
    }),
    fails: wrong(
      "frame",
      /no message can describe host frame GRAY8 8 × 8: body: expected at most 65536 bytes, .* as a tensor/,
    ),
  },
  "a dictionary's name that is too long for a message": {
    ...withEnds(async (one) => {
      using frame = host.allocateFrame(grey(8, 8), { sharable: true });
      frame.metadata.add("x".repeat(257), {});
      await one.send(frame);
    }),
    fails: { ...wrong("name", /^name: expected at most 256 characters, got/), api: "core" },
  },
  "who is not allowed": {
    async run() {
      using server = listen(freshPath(), { allow: ({ pid }) => pid !== Deno.pid });
      using _client = connect(server.path);
      await server.accept({ signal: AbortSignal.timeout(10) }).catch((error) => say(error.name));
    },
    says: ["TimeoutError"],
    warns: /was turned away/,
  },
  "an `allow` that throws": {
    run: withEnds(() => {}, {
      allow: () => {
        throw new LayoutError("mine", { api: "core" });
      },
    }).run,
    fails: { error: LayoutError, api: "core", message: /mine/ },
  },
  "peers and servers that are forgotten": {
    alone: true,
    async run() {
      const { path } = listen(freshPath());
      connect(path);
      await collect();
    },
    warns: /was never disposed/,
  },
  "an exit while everything waits": {
    leaves: true,
    exits: 3,
    async run() {
      const server = listen(freshPath());
      const client = connect(server.path);
      const waits = [client.receive(), server.accept(), server.accept()];
      setTimeout(() => {
        server[Symbol.dispose](); // else its file stays
        Deno.exit(3);
      }, 20);
      await Promise.allSettled(waits);
      await new Promise(() => {});
    },
  },
});
