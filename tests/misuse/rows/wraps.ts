import { AccessError, ArgumentError, host, LayoutError, MapperGraph } from "@samepage/interop";
import { any, fails, open, outcome, say } from "../kit.ts";
import { type Failure, table } from "../row.ts";

const refused = (argument: string, message: RegExp, hint?: RegExp): Failure => ({
  error: ArgumentError,
  api: "host",
  fn: "wrap",
  argument,
  message,
  ...(hint === undefined ? {} : { hint }),
});
const bytes = { shape: [64], dtype: "u8" } as const;

/** A page of zeros that may only be read. */
function readOnlyPage(): bigint {
  const { mmap } = Deno.dlopen("libc.so.6", {
    mmap: { parameters: ["u64", "usize", "i32", "i32", "i32", "i64"], result: "u64" },
  }).symbols;
  const [PROT_READ, MAP_PRIVATE, MAP_ANONYMOUS] = [1, 2, 0x20];
  return mmap(0n, 4096n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0n);
}

export default table(import.meta, {
  "the address of a map, which ends with it": {
    opencl: true,
    run() {
      using cl = open();
      using graph = new MapperGraph([host, cl]);
      using buffer = cl.allocate(bytes);
      using mapped = graph.map(buffer, host);
      host.wrap(mapped.address, bytes);
    },
    fails: refused("memory", /mapped for the host: the address ends with that map/, /slice it/),
  },
  "a misaligned pointer, wrapped for wider elements": {
    run() {
      using t = host.allocate(bytes);
      using wrapped = host.wrap(t.handle + 2n, { shape: [4], dtype: "f32" });
      wrapped.view();
    },
    fails: {
      error: LayoutError,
      api: "host",
      argument: "byteOffset",
      message: /address is not a multiple of .* 4 bytes/,
    },
  },
  "a null pointer": {
    run: () => host.wrap(0n, bytes),
    fails: refused("memory", /pointer is null/),
  },
  "null": {
    run: () => host.wrap(null, bytes),
    fails: refused("memory", /pointer is null/),
  },
  "a pointer to nothing": {
    run: () => host.wrap(4096n, bytes),
    fails: {
      error: ArgumentError,
      ...{ api: "host", fn: "process_vm_readv", argument: "pointer" },
      message: /page 0 of the 64 bytes at 0x1000 cannot be read/,
      hint: /Is the memory still there/,
    },
  },
  "a range past the last address": {
    run: () => host.wrap(2n ** 64n - 32n, bytes),
    fails: refused("memory", /ends beyond the last address/),
  },
  "a pointer beyond 64 bits": {
    run: () => host.wrap(2n ** 64n + 4096n, bytes),
    fails: refused("memory", /ends beyond the last address/),
  },
  "a negative pointer": {
    run: () => host.wrap(-4096n, bytes),
    fails: refused("memory", /pointer is null/),
  },
  "a pointer without a layout": {
    run: () => host.wrap(4096n, any(undefined)),
    fails: refused("init", /a pointer needs a layout/, /Pass \{ shape, dtype \}/),
  },
  "a range that overlaps a tensor in part": {
    run() {
      using t = host.allocate({ shape: [4096], dtype: "u8" });
      const page = t.handle;
      host.wrap(page - 32n, bytes);
    },
    fails: refused("memory", /the range overlaps 4096 bytes at .* in part/, /Wrap a range within/),
  },
  "memory that was given back": {
    run() {
      const t = host.allocate({ shape: [1 << 24], dtype: "u8" });
      const address = t.handle;
      t[Symbol.dispose]();
      host.wrap(address, { shape: [1 << 24], dtype: "u8" });
    },
    fails: {
      error: ArgumentError,
      ...{ api: "host", fn: "process_vm_readv", argument: "pointer" },
      message: /cannot be read/,
      hint: /Is the memory still there/,
    },
  },
  "a small tensor's memory that was given back": { // its page is there, for the next small one
    run() {
      const t = host.allocate(bytes);
      const address = t.handle;
      t[Symbol.dispose]();
      host.wrap(address, bytes);
    },
    fails: {
      ...{ error: ArgumentError, api: "host", argument: "pointer" },
      message: /a tensor was at 0x[0-9a-f]+, and has been disposed/,
      hint: /Keep that tensor/,
    },
  },
  "a page that may only be read": {
    run() {
      const address = readOnlyPage();
      using read = host.wrap(address, bytes, { access: "read" });
      say(read.view().length);
      host.wrap(address, bytes);
    },
    says: ["64"],
    fails: {
      ...{ error: ArgumentError, api: "host", fn: "wrap", argument: "access" },
      message: /is read-only: a write would end the process/,
      hint: /access: "read"/,
    },
  },
  "a buffer that was taken over before": {
    run() {
      const buffer = new ArrayBuffer(64);
      using _ = host.wrap(buffer);
      host.wrap(buffer);
    },
    fails: refused("memory", /the buffer is detached/, /taken over before/),
  },
  "a view of a tensor": {
    run() {
      using t = host.allocate(bytes);
      host.wrap(t.view());
    },
    fails: refused("memory", /view of a samepage tensor/, /Map or slice/),
  },
  "a SharedArrayBuffer": {
    run: () => host.wrap(any(new SharedArrayBuffer(64))),
    fails: refused("memory", /a SharedArrayBuffer cannot be taken over/, /Copy it/),
  },
  "a view of a SharedArrayBuffer": {
    run: () => host.wrap(any(new Uint8Array(new SharedArrayBuffer(64)))),
    fails: refused("memory", /a SharedArrayBuffer cannot be taken over/, /Copy it/),
  },
  "a resizable buffer": {
    run: () => host.wrap(new ArrayBuffer(64, { maxByteLength: 128 })),
    fails: refused("memory", /resizable/, /transferToFixedLength/),
  },
  "an empty buffer": {
    run: () => host.wrap(new Uint8Array(0)),
    fails: refused("memory", /empty/),
  },
  "a WebAssembly memory": {
    run: () => host.wrap(new Uint8Array(new WebAssembly.Memory({ initial: 1 }).buffer)),
    fails: refused("memory", /cannot be taken over/, /Copy it/),
  },
  "a layout longer than the buffer": {
    run: () => host.wrap(new Uint8Array(16), { shape: [32], dtype: "u8" }),
    fails: { error: LayoutError, api: "host", argument: "shape", message: /needs 32 bytes, but the buffer has 16/ },
  },
  "an array that is mapped without it": {
    run() {
      using graph = new MapperGraph([host]);
      graph.map(any(new Uint8Array(16)), host);
    },
    fails: {
      ...{ error: ArgumentError, api: "core", argument: "source" },
      ...{ message: /expected a tensor or a frame, got a Uint8Array/, hint: /host\.wrap\(\)/ },
    },
  },
  "what is neither a buffer nor a pointer": {
    run: () => host.wrap(any("0x1000"), bytes),
    fails: refused("memory", /expected a buffer or a pointer, got a string/, /typed array/),
  },
  "release of memory that was not a buffer": {
    run() {
      using t = host.allocate(bytes);
      t.release();
    },
    fails: { error: ArgumentError, api: "host", fn: "release", message: /not made from a JavaScript buffer/ },
  },
  "release twice": {
    run() {
      const t = host.wrap(new Uint8Array(64).fill(3));
      say(new Uint8Array(t.release())[63], outcome(() => t.release()), outcome(() => t.address));
    },
    says: ["3 DisposedError ok"],
  },
  "release while a promise holds the memory": {
    async run() {
      const t = host.wrap(new Uint8Array(64).fill(3));
      const { promise, resolve } = Promise.withResolvers<void>();
      const lend = t.lend(() => promise);
      fails("release", () => t.release(), AccessError);
      resolve();
      await lend;
      say(t.release().byteLength);
    },
    says: ["64"],
  },
  "release of a peer's memory": {
    run() {
      using t = host.wrap(new Uint8Array(64));
      using _ = host.wrap(t.handle, bytes);
      t.release();
    },
    fails: { error: AccessError, api: "host", fn: "release", message: /shared with another tensor/, hint: /dispose/ },
  },
});
