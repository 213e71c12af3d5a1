import { host, MapperGraph } from "@samepage/interop";
import { CudaLostError } from "@samepage/interop/cuda";
import { asserting, assertLost, BYTES, device, kernels, ONE } from "../cuda.ts";
import { fails, safe, safely, say } from "../kit.ts";
import { table } from "../row.ts";

const THREAD = { groups: [1], groupSize: [1] } as const;

export default table(import.meta, {
  "a kernel out of bounds": {
    gpus: 1,
    leaves: true,
    run() {
      const cuda = device();
      const k = kernels(cuda);
      k.wild.run(THREAD, [16n]);
      assertLost(cuda, "cudaErrorIllegalAddress");
      fails("run", () => k.wild.run(THREAD, [16n]), CudaLostError);
      safe("dispose", () => cuda[Symbol.dispose]());
    },
  },
  "a kernel whose assertion fails": {
    gpus: 1,
    leaves: true,
    run() {
      const cuda = device();
      const asserts = asserting(cuda);
      asserts.run(THREAD, [0]);
      cuda.stream.finish();
      asserts.run(THREAD, [1]);
      assertLost(cuda, "cudaErrorAssert");
      safe("dispose", () => cuda[Symbol.dispose]());
    },
    warns: /Assertion/,
  },
  "a kernel that writes an int at an odd address": {
    gpus: 1,
    leaves: true,
    run() {
      const cuda = device();
      const x = cuda.allocate(BYTES);
      kernels(cuda).program.kernel("odd", ["unsigned char*"]).run(THREAD, [x]);
      assertLost(cuda, "cudaErrorMisalignedAddress");
      safe("dispose", () => cuda[Symbol.dispose]());
    },
  },
  "a kernel that traps": {
    gpus: 1,
    leaves: true,
    run() {
      const cuda = device();
      kernels(cuda).program.kernel("trap", []).run(THREAD, []);
      try {
        cuda.stream.finish();
      } catch (error) {
        say(error instanceof CudaLostError);
      }
      fails("allocate", () => cuda.allocate(BYTES), CudaLostError);
      safe("dispose", () => cuda[Symbol.dispose]());
    },
    says: ["true"],
  },
  "everything that lives when a kernel goes wrong, disposed": {
    gpus: 1,
    leaves: true,
    async run() {
      const cuda = device();
      const graph = new MapperGraph([host, cuda]);
      const k = kernels(cuda);
      const source = host.allocate(BYTES);
      source.view().fill(3);
      const things: (Disposable & Partial<AsyncDisposable>)[] = [
        graph.map(source, cuda, { access: "read" }),
        cuda.allocate(BYTES),
        cuda.stream.allocate(BYTES),
        cuda.pinned.allocate(BYTES),
        cuda.managed.allocate(BYTES),
        cuda.virtual.allocate(BYTES),
        cuda.array({ width: 64, dtype: "u8" }),
        cuda.createPool(),
        cuda.pinned.pool({ byteLength: 4096 }),
        cuda.timer(),
        cuda.createStream(),
        k,
      ];
      k.wild.run(THREAD, [16n]);
      await safely("finished", cuda.stream.finished());
      fails("finish", () => cuda.stream.finish(), CudaLostError);
      for (const [i, thing] of things.entries()) {
        const ended = thing[Symbol.asyncDispose];
        if (i % 2 === 0 || ended === undefined) safe(`${i}`, () => thing[Symbol.dispose]());
        else await safely(`${i}`, Promise.resolve(ended.call(thing)));
      }
      safe("graph", () => graph[Symbol.dispose]());
      await safely("context", cuda[Symbol.asyncDispose]());
      say(source.view({ access: "read" }).every((byte) => byte === 3)); // the host's bytes
      source[Symbol.dispose]();
    },
    says: ["true"],
  },
  "the end of the program after a kernel has gone wrong": {
    gpus: 1,
    leaves: true,
    run() {
      const cuda = device();
      const k = kernels(cuda);
      const x = cuda.allocate(BYTES);
      k.wild.run(THREAD, [16n]);
      fails("finish", () => cuda.stream.finish(), CudaLostError);
      fails("run", () => k.add.run(ONE, [x, 1]), CudaLostError);
    },
  },
  "a wait that is awaited while a kernel goes wrong": {
    gpus: 1,
    leaves: true,
    async run() {
      const cuda = device();
      const k = kernels(cuda);
      const x = cuda.allocate(BYTES);
      k.wait.run({ groups: [1], groupSize: [256] }, [x, 50]);
      k.wild.run(THREAD, [16n]);
      const [one, two] = await Promise.allSettled([cuda.stream.finished(), cuda.stream.fence().wait()]);
      say(one.status, two.status);
      fails("finish", () => cuda.stream.finish(), CudaLostError);
      safe("dispose", () => cuda[Symbol.dispose]());
    },
    says: ["rejected rejected"],
  },
});
