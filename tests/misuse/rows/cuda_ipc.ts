import { ArgumentError, DisposedError, NativeCallError } from "@samepage/interop";
import { exported } from "../../cuda/cells/exporter.ts";
import { BYTES, device } from "../cuda.ts";
import { any, fails, judge, outcome, same, say, sleep } from "../kit.ts";
import { table } from "../row.ts";

/** Whatever comes of it, it is not a tensor, and typed. */
function refused(what: string, action: () => unknown): void {
  fails(what, action);
}

const RUNS = ["--allow-all"]; // it starts another process

export default table(import.meta, {
  "an envelope that somebody has changed": {
    gpus: 1,
    run() {
      using cuda = device();
      using x = cuda.allocate(BYTES);
      const { bytes, byteLength } = cuda.exportMemory(x);
      same("as long as the tensor at least", byteLength >= 4096, true);
      say(outcome(() => cuda.openMemory(bytes))); // this same process's
      for (let i = 0; i < bytes.length; i += 3) {
        const changed = bytes.slice();
        changed[i] ^= 0x41;
        refused(`byte ${i}`, () => cuda.openMemory(changed));
      }
      for (let length = 0; length < bytes.length; length += 7) {
        refused(`${length} bytes`, () => cuda.openMemory(bytes.slice(0, length)));
      }
      refused("longer", () => cuda.openMemory(new Uint8Array([...bytes, 0])));
      refused("noise", () => cuda.openMemory(crypto.getRandomValues(new Uint8Array(bytes.length))));
      for (const given of [undefined, null, 5, "bytes", [], {}]) refused(`${given}`, () => cuda.openMemory(any(given)));
    },
    says: ["ArgumentError bytes"],
  },
  "a handle that is noise": {
    gpus: 1,
    run() {
      using cuda = device();
      const layout = BYTES;
      for (const length of [0, 63, 65]) {
        refused(`${length} bytes`, () => cuda.openMemory({ handle: new Uint8Array(length), layout }));
      }
      for (let i = 0; i < 20; i++) {
        const handle = crypto.getRandomValues(new Uint8Array(64));
        refused("noise", () => cuda.openMemory({ handle, layout }));
        refused("an event's noise", () => cuda.openEvent({ handle }));
      }
      refused("zeros", () => cuda.openMemory({ handle: new Uint8Array(64), layout }));
      refused("its layout", () => cuda.openMemory({ handle: new Uint8Array(64), layout: any({}) }));
      using x = cuda.allocate(BYTES);
      cuda.stream.fill(x, 1);
      cuda.stream.finish(); // CUDA goes on
    },
  },
  "memory that cannot be given out": {
    gpus: 1,
    run() {
      using cuda = device();
      using pinned = cuda.pinned.allocate(BYTES);
      using managed = cuda.managed.allocate(BYTES);
      using virtual = cuda.virtual.allocate(BYTES);
      for (const tensor of [pinned, managed, virtual]) {
        fails(tensor.name, () => cuda.exportMemory(tensor), ArgumentError);
      }
      fails("rubbish", () => cuda.exportMemory(any({})), ArgumentError);
      const gone = cuda.allocate(BYTES);
      gone[Symbol.dispose]();
      fails("disposed", () => cuda.exportMemory(gone), DisposedError);
    },
  },
  "memory of a process that has ended": {
    gpus: 1,
    flags: RUNS,
    async run() {
      using cuda = device();
      const { bytes, end } = await exported(cuda.device.ordinal, [4096]);
      {
        using opened = cuda.openMemory(bytes);
        using again = cuda.openMemory(bytes);
        const there = new Uint8Array(4096).fill(1);
        cuda.stream.read(opened, there);
        say(there.every((byte) => byte === 0), opened.memory, again.address === opened.address);
        refused("out again", () => cuda.exportMemory(opened));
      }
      end();
      await sleep(2000);
      try {
        cuda.openMemory(bytes)[Symbol.dispose]();
      } catch (error) {
        judge("stale", error, [NativeCallError]);
        return say("stale");
      }
      say("opened");
    },
    says: ["true imported true", "stale"],
  },
  "an event that processes share": {
    gpus: 1,
    run() {
      using cuda = device();
      const event = cuda.exportEvent();
      say(event.bytes!.length > 64, event.handle!.length);
      refused("this same process's", () => cuda.openEvent(event.bytes!));
      refused("half of it", () => cuda.openEvent(event.bytes!.slice(0, 40)));
      fails("no stream", () => event.record(any({})), ArgumentError);
      const fence = event.record();
      fence.waitSync();
      say(fence.reached());
      const later = event.fence();
      later.waitSync();
      cuda.stream.waitFor(later);
      Deno.inspect([event, fence.line]);
      event[Symbol.dispose]();
      event[Symbol.dispose]();
      fails("record", () => event.record(), DisposedError);
      fails("fence", () => event.fence(), DisposedError);
      say(fence.reached());
    },
    says: ["true 64", "true", "true"],
  },
});
