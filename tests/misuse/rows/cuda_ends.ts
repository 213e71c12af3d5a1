import { DisposedError, host, MapperGraph } from "@samepage/interop";
import { CudaContext } from "@samepage/interop/cuda";
import { BYTES, device, kernels, work } from "../cuda.ts";
import { collect, fails, same, say, sleep } from "../kit.ts";
import { type Row, table } from "../row.ts";

const LONG = 2000;
const flags = ["--allow-ffi", "--allow-read"]; // a Worker's module is read

/** What is not to be collected. */
const kept: unknown[] = [];

/** Ends in the middle of its work. */
function inTheMiddle(end: () => unknown): Row {
  return { gpus: 1, leaves: true, run: end };
}

/** What a Worker says first, or what ended it. */
function answer(worker: Worker): Promise<string> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      resolve(event.message);
    };
  });
}

/** Starts the Worker's program. */
function start(whole: boolean): Worker {
  const worker = new Worker(new URL("../workers/cuda.ts", import.meta.url), { type: "module" });
  worker.postMessage(whole);
  return worker;
}

/** Every order of some things. */
function* orders<T>(things: readonly T[]): Generator<T[]> {
  if (things.length === 0) yield [];
  for (const [i, first] of things.entries()) {
    for (const rest of orders([...things.slice(0, i), ...things.slice(i + 1)])) yield [first, ...rest];
  }
}

export default table(import.meta, {
  "disposed twice, in every order": {
    gpus: 1,
    run() {
      using _device = device(); // whose primary context stays
      for (const order of orders([0, 1, 2, 3, 4])) {
        const cuda = device();
        const graph = new MapperGraph([host, cuda]);
        const source = host.allocate(BYTES);
        const things = [cuda, graph, source, graph.map(source, cuda), cuda.createStream()];
        const resources = things.map((thing) => "resource" in thing ? thing.resource : undefined);
        for (const i of [...order, ...order]) things[i][Symbol.dispose]();
        for (const resource of resources) same("its state", resource?.state ?? "freed", "freed");
      }
    },
  },
  "a context that is disposed with all that lives in it": {
    gpus: 1,
    async run() {
      for (const ends of ["dispose", "asyncDispose"] as const) {
        const { cuda, graph, kernels: made, source, mapped } = work(device());
        const things = [
          cuda.allocate(BYTES),
          cuda.pinned.allocate(BYTES),
          cuda.managed.allocate(BYTES),
          cuda.virtual.allocate(BYTES),
          cuda.stream.allocate(BYTES),
          cuda.createStream(),
          cuda.timer(),
          made.program,
          made.wait,
          mapped,
        ];
        const fence = cuda.stream.fence();
        Deno.inspect([cuda, things]);
        if (ends === "dispose") cuda[Symbol.dispose]();
        else await cuda[Symbol.asyncDispose]();
        for (const { resource } of things) same("its state", resource.state, "freed");
        fails("allocate", () => cuda.allocate(BYTES), DisposedError);
        fails("stream", () => cuda.createStream(), DisposedError);
        fails("program", () => cuda.program("int x;"), DisposedError);
        fails("memory", () => cuda.memory(), DisposedError);
        fails("timer", () => cuda.timer(), DisposedError);
        fails("register", () => cuda.register(source), DisposedError);
        fails("map", () => graph.map(source, cuda));
        say(source.view().every((byte, i) => byte === (i < 256 ? 8 : 7)), fence.reached());
        graph[Symbol.dispose]();
        source[Symbol.dispose]();
      }
    },
    says: ["true true", "true true"],
  },
  "forgotten tensors and kernels": {
    gpus: 1,
    async run() {
      using cuda = device();
      (() => {
        using graph = new MapperGraph([host, cuda]);
        for (let i = 0; i < 5; i++) graph.map(host.allocate(BYTES), cuda);
        cuda.allocate(BYTES);
        kernels(cuda);
      })();
      cuda.stream.finish();
      await collect();
      await collect();
    },
    warns: /was never disposed; it is now, by the garbage collector/,
  },
  "a forgotten context": {
    gpus: 1,
    leaves: true,
    async run() {
      (() => void CudaContext.open())();
      for (let i = 0; i < 5; i++) await collect();
    },
    warns: /was never disposed; its native objects stay/,
  },
  "the end of the program, with live maps and a kernel at work": inTheMiddle(() =>
    void kept.push(work(device(), LONG))
  ),
  "Deno.exit, with live maps and a kernel at work": inTheMiddle(() => {
    kept.push(work(device(), LONG));
    Deno.exit(0);
  }),
  "the end of the program, with waits that are not awaited": {
    gpus: 1,
    leaves: true,
    run() {
      const busy = work(device());
      kept.push(busy);
      busy.cuda.stream.fence().wait().then(() => say("waited"));
      busy.mapped[Symbol.asyncDispose]();
    },
    says: ["waited"],
  },
  "the end of the program, with bytes on their way back": inTheMiddle(() => {
    const busy = work(device(), LONG);
    kept.push(busy);
    busy.mapped.disposeAfter(busy.cuda.stream.fence());
  }),
  "an uncaught error, with a kernel at work": {
    gpus: 1,
    leaves: true,
    run() {
      kept.push(work(device(), LONG));
      setTimeout(() => {
        throw new Error("the program's own");
      });
    },
    exits: 1,
    warns: /the program's own/,
  },
  "a Worker that is terminated with work in flight": {
    gpus: 1,
    flags,
    async run() {
      for (let i = 0; i < 2; i++) {
        const worker = start(false);
        say(await answer(worker));
        worker.terminate();
      }
      const { cuda, graph, source, mapped } = work(device());
      await sleep(300);
      await mapped[Symbol.asyncDispose]();
      say(source.view().every((byte, i) => byte === (i < 256 ? 8 : 7)));
      graph[Symbol.dispose]();
      source[Symbol.dispose]();
      cuda[Symbol.dispose]();
    },
    says: ["running", "running", "true"],
  },
  "three Workers at once": {
    gpus: 1,
    flags,
    async run() {
      const answers = [0, 1, 2].map(() => answer(start(true)));
      for (const each of answers) say(await each);
    },
    says: ["true {}", "true {}", "true {}"],
  },
  "the process's end while a Worker is at work": {
    gpus: 1,
    flags,
    async run() {
      say(await answer(start(false)));
      Deno.exit(0);
    },
    says: ["running"],
  },
});
