import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  imageInfo,
  LayoutError,
  MapperGraph,
  NativeCallError,
} from "@samepage/interop";
import type { CudaTensor } from "@samepage/interop/cuda";
import { BYTES, device, kernels, ONE } from "../cuda.ts";
import { Port } from "../../../src/core/device/port.ts";
import { layout } from "../../../src/core/layout/layout.ts";
import { libc } from "../../../src/core/native/libc.ts";
import { cString } from "../../../src/core/native/text.ts";
import { importAs } from "../../../src/core/tensors/over.ts";
import { any, fails, outcome, safe, same, say } from "../kit.ts";
import { table } from "../row.ts";

const SHAPES = [[NaN], [-1], [2 ** 64], [0], [1.5], [Infinity], [2 ** 52, 2 ** 10], ["4"], [null]];

export default table(import.meta, {
  "device memory, after it was freed": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using k = kernels(cuda);
      const x = cuda.allocate(BYTES);
      x[Symbol.dispose]();
      fails("run", () => k.add.run(ONE, [x, 1]), DisposedError);
      fails("fill", () => cuda.stream.fill(x, 1), DisposedError);
      fails("read", () => cuda.stream.read(x, new Uint8Array(4096)), DisposedError);
      fails("write", () => cuda.stream.write(x, new Uint8Array(4096)), DisposedError);
      fails("slice", () => x.slice(x.layout), DisposedError);
      fails("map", () => graph.map(x, host, { copy: "allow" }), DisposedError);
      fails("export", () => cuda.exportMemory(x), DisposedError);
      x.handle;
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
  "memory that is freed while a kernel uses it": {
    gpus: 1,
    async run() {
      using cuda = device();
      using k = kernels(cuda);
      for (
        const make of [() => cuda.allocate(BYTES), () => cuda.pinned.allocate(BYTES), () => cuda.stream.allocate(BYTES)]
      ) {
        const x = make();
        k.wait.run({ groups: [1], groupSize: [256] }, [x, 20]);
        x[Symbol.dispose]();
        const y = make();
        k.wait.run({ groups: [1], groupSize: [256] }, [y, 20]);
        await y[Symbol.asyncDispose]();
      }
      cuda.stream.finish();
    },
  },
  "invalid sizes, of every kind": {
    gpus: 1,
    run() {
      using cuda = device();
      using pool = cuda.pinned.pool({ byteLength: 4096, count: 0 });
      const makes = [
        (init: never) => cuda.allocate(init),
        (init: never) => cuda.pinned.allocate(init),
        (init: never) => cuda.managed.allocate(init),
        (init: never) => cuda.virtual.allocate(init),
        (init: never) => cuda.stream.allocate(init),
        (init: never) => pool.take(init),
      ];
      for (const make of makes) {
        for (const shape of SHAPES) fails(`${shape}`, () => make(any({ shape, dtype: "u8" })), LayoutError);
        for (const init of [undefined, null, 5, "x", {}, { shape: [1] }, { shape: [1], dtype: "u7" }]) {
          fails(`${init}`, () => make(any(init)));
        }
      }
    },
  },
  "frames of no format, and of no size": {
    gpus: 1,
    run() {
      using cuda = device();
      const info = imageInfo({ format: "NV12", width: 64, height: 48 });
      for (const other of [{ format: "NV13" }, { width: 63 }, { height: -2 }, { type: "film" }]) {
        fails(JSON.stringify(other), () => cuda.allocateFrame(any({ ...info, ...other })), LayoutError);
      }
    },
  },
  "an allocator of pinned memory with other options, and after its end": {
    gpus: 1,
    run() {
      using cuda = device();
      for (const options of [null, 5, { mapped: 1 }, { shape: [1] }]) {
        fails(`${options}`, () => cuda.pinned.allocator(any(options)), ArgumentError);
      }
      const allocator = cuda.pinned.allocator({ writeCombined: true });
      allocator.trim();
      say(allocator.statistics.lentBytes, allocator.statistics.idleBytes);
      allocator[Symbol.dispose]();
      allocator[Symbol.dispose]();
      allocator.trim();
    },
    says: ["0 0"],
    fails: { error: DisposedError, api: "core", message: /pinned allocator .* was disposed/ },
  },
  "more memory than there is": {
    gpus: 1,
    run() {
      using cuda = device();
      const { total, free } = cuda.memory();
      same("memory", free <= total, true);
      const much = { shape: [4 * total], dtype: "u8" } as const;
      for (
        const make of [() => cuda.allocate(much), () => cuda.stream.allocate(much), () => cuda.virtual.allocate(much)]
      ) {
        fails("too much", make, NativeCallError);
      }
      // There is as much as before, and CUDA goes on.
      using x = cuda.allocate(BYTES);
      cuda.stream.fill(x, 3);
      cuda.stream.finish();
      cuda.allocate(much);
    },
    fails: {
      error: NativeCallError,
      ...{ api: "cuda", fn: "cudaMalloc", code: 2, codeName: "cudaErrorMemoryAllocation" },
      message: /cudaMalloc failed/,
      hint: /cuda\.memory\(\) returns how much/,
    },
  },
  "a hundred thousand tensors at once": {
    gpus: 1,
    run() {
      const cuda = device();
      const all: CudaTensor[] = [];
      for (let i = 0; i < 100_000; i++) all.push(cuda.allocate({ shape: [64], dtype: "u8" }));
      cuda.stream.fill(all[99_999], 1);
      say(new Set(all.map(({ address }) => address)).size);
      cuda[Symbol.dispose]();
      same("state", all[0].resource.state, "freed");
    },
    says: ["100000"],
  },
  "a view of the host's, while the device has the bytes": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using source = host.allocate(BYTES);
      const view = source.view();
      {
        using _ = graph.map(source, cuda);
        same("the view", view.length, 0);
        view[0] = 1; // nothing
        fails("view", () => source.view(), AccessError);
        fails("handle", () => source.handle, AccessError);
      }
      source.view()[0] = 1;
    },
  },
  "pinned memory that is mapped to the host, while a kernel writes it": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using k = kernels(cuda);
      for (const kind of ["pinned", "managed"] as const) {
        using memory = cuda[kind].allocate(BYTES);
        using seen = graph.map(memory, host);
        seen.bytes().fill(1);
        fails("run", () => k.add.run(ONE, [memory, 1]), AccessError);
      }
    },
  },
  "pinned memory that kernels were not to reach": {
    gpus: 1,
    run() {
      using cuda = device();
      using x = cuda.pinned.allocate({ ...BYTES, mapped: false });
      say(cuda.pinned.flagsOf(x).includes("cudaHostAllocPortable"));
      say(cuda.pinned.is(x), cuda.is(x), x.context === cuda, x.address > 0n);
      safe("fill", () => cuda.stream.fill(x, 1)); // where all addresses are one, it is reached all the same
      cuda.stream.finish();
    },
    says: ["true", "true false true true"],
  },
  "reading write-combined memory": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using x = cuda.pinned.allocate({ ...BYTES, writeCombined: true });
      for (let i = 0; i < 2; i++) {
        using seen = graph.map(x, host);
        seen.bytes().fill(1);
      }
    },
    warns: /bytes of pinned memory are read by the CPU/,
  },
  "a copy that was not allowed": {
    gpus: 1,
    run() {
      using cuda = device();
      using graph = new MapperGraph([host, cuda]);
      using x = cuda.allocate(BYTES);
      say(outcome(() => graph.map(x, host)));
      using seen = graph.map(x, host, { copy: "allow" });
      seen.bytes().fill(1);
      say(cuda.bytesCopied > 0);
    },
    says: ["NoRouteError target", "true"],
  },
  "rows that have no pitch": {
    gpus: 1,
    run() {
      using cuda = device();
      say(outcome(() => cuda.allocate({ shape: [64], dtype: "u8", pitch: true })));
      say(outcome(() => cuda.allocate({ shape: [4, 64], dtype: "u8", pitch: true, rowAlign: 128 })));
      say(outcome(() => cuda.allocate({ shape: [4, 64], dtype: "u8", pitch: any(1) })));
      using x = cuda.allocate({ shape: [4, 61], dtype: "u8", pitch: true });
      say(outcome(() => cuda.stream.read(x, new Uint8Array(4 * 61))));
    },
    says: ["LayoutError shape", "LayoutError rowAlign", "ArgumentError pitch", "LayoutError into"],
  },
  "a pool that is not filled": {
    gpus: 1,
    async run() {
      using cuda = device();
      for (const options of [undefined, {}, { byteLength: 0 }, { byteLength: 4096, alignment: 3 }]) {
        fails(JSON.stringify(options), () => cuda.pinned.pool(any(options)));
      }
      const pool = cuda.pinned.pool({ byteLength: 4096, maxBytes: 8192 });
      using a = pool.take(BYTES);
      fails("too many", () => pool.take({ shape: [16_384], dtype: "u8" }), AccessError);
      pool.trim();
      say(pool.statistics.made >= 1, a.address > 0n);
      await pool[Symbol.asyncDispose]();
      pool[Symbol.dispose]();
      fails("take", () => pool.take(BYTES), DisposedError);
      fails("trim", () => pool.trim(), DisposedError);
      fails("its tensor", () => a.handle, DisposedError);
      Deno.inspect(pool);
    },
    says: ["true true"],
  },
  "a pool of the device's": {
    gpus: 1,
    async run() {
      using cuda = device();
      using other = device();
      for (const options of [null, { maxBytes: -1 }, { releaseThreshold: NaN }]) {
        fails(JSON.stringify(options), () => cuda.createPool(any(options)));
      }
      const pool = cuda.createPool({ releaseThreshold: 1 << 20 });
      const x = cuda.stream.allocate(BYTES, { pool });
      say(pool.handle > 0n, pool.statistics.used > 0);
      fails("another context's", () => other.stream.allocate(BYTES, { pool }));
      fails("no pool", () => cuda.stream.allocate(BYTES, { pool: any({}) }));
      fails("trim", () => pool.trim(-1));
      pool.trim();
      await pool[Symbol.asyncDispose]();
      pool[Symbol.dispose]();
      fails("its tensor", () => cuda.stream.fill(x, 1), DisposedError);
      fails("allocate", () => cuda.stream.allocate(BYTES, { pool }), DisposedError);
      fails("handle", () => pool.handle, DisposedError);
      Deno.inspect(pool);
    },
    says: ["true true"],
  },
  "managed memory that is moved where there is nothing": {
    gpus: 1,
    run() {
      using cuda = device();
      using x = cuda.managed.allocate(BYTES);
      using pinned = cuda.pinned.allocate(BYTES);
      const { managed } = cuda;
      say(outcome(() => managed.attach(x, any("nobody"))));
      say(outcome(() => managed.attach(x, "single")));
      say(outcome(() => managed.attach(x, "global", any({}))));
      say(outcome(() => managed.prefetch(x, any("moon"))));
      say(outcome(() => managed.advise(x, any("be quick"))));
      fails("pinned", () => managed.prefetch(pinned, "device"));
      fails("rubbish", () => managed.advise(any(5), "read-mostly"));
      fails("host", () => managed.attach(any(host), "global"));
      say(outcome(() => managed.allocate({ ...BYTES, attach: any("single") })));
      managed.revokeViews();
      safe("advice", () => managed.adviceOn(x));
      safe("prefetch", () => managed.lastPrefetch(x));
      x[Symbol.dispose]();
      fails("advice", () => managed.adviceOn(x), DisposedError);
    },
    says: [
      "ArgumentError to",
      "ArgumentError stream",
      "ArgumentError stream",
      "ArgumentError to",
      "ArgumentError advice",
      "ArgumentError attach",
    ],
  },
  "virtual memory and its fds": {
    gpus: 1,
    run() {
      using cuda = device();
      const { virtual } = cuda;
      say(outcome(() => virtual.allocate({ ...BYTES, location: any("moon") })));
      say(outcome(() => virtual.allocate({ ...BYTES, sharable: any(1) })));
      say(outcome(() => virtual.allocate({ ...BYTES, devices: any([{}]) })));
      for (const fd of [-1, 1.5, 2 ** 31, NaN, "3"]) fails(`${fd}`, () => virtual.import(any(fd), BYTES));
      fails("no fd", () => virtual.import(1_000_000, BYTES));
      fails("of something else", () => virtual.import(0, BYTES));
      using secret = virtual.allocate({ ...BYTES, sharable: false });
      say(outcome(() => virtual.exportFd(secret)));
      using other = cuda.allocate(BYTES);
      say(outcome(() => virtual.exportFd(other)));
      using x = virtual.allocate(BYTES);
      const fd = virtual.exportFd(x);
      fails("longer than it is", () => virtual.import(fd, { shape: [2 ** 40], dtype: "u8" }));
      using again = virtual.import(fd, BYTES);
      cuda.stream.fill(again, 1);
      cuda.stream.finish();
    },
    says: [
      "ArgumentError location",
      "ArgumentError sharable",
      "ArgumentError devices[0]",
      "ArgumentError tensor",
      "ArgumentError tensor",
    ],
  },
  "memory of another API, by an fd of something else": {
    gpus: 1,
    run() {
      using cuda = device();
      using x = cuda.virtual.allocate(BYTES);
      const received = { layouts: [layout(BYTES)], access: "read-write" } as const;
      const take = (fd: number, byteLength = 2 << 20) =>
        importAs(cuda, new Port("opaque-fd", { fd, byteLength }), received);
      fails("a memfd", () => take(libc().memfd_create(cString("none of a GPU's"), 0)));
      fails("a file", () => take(libc().open(cString("/dev/null"), 0, 0)));
      fails("longer than it is", () => take(cuda.virtual.exportFd(x), 2 ** 40));
      fails("nothing", () => take(cuda.virtual.exportFd(x), 0));
      using again = take(cuda.virtual.exportFd(x)) as CudaTensor;
      cuda.stream.fill(again, 1);
      cuda.stream.finish();
      const disposed = take(cuda.virtual.exportFd(x)) as CudaTensor;
      disposed[Symbol.dispose]();
      fails("disposed", () => cuda.stream.fill(disposed, 1), DisposedError);
    },
  },
  "other code's memory, said wrongly": {
    gpus: 1,
    run() {
      using cuda = device();
      const init = { shape: [4], dtype: "u8", size: 4 } as const;
      for (const fd of [-1, 1.5, "0", null, 2 ** 20]) {
        fails("fd", () => cuda.importMemory(any(fd), init), ArgumentError);
      }
      fails("size", () => cuda.importMemory(0, { ...init, size: 0 }), ArgumentError);
      fails("uuid", () => cuda.importMemory(0, { ...init, uuid: "ff" }), ArgumentError);
      fails("too short", () => cuda.importMemory(0, { ...init, size: 3 }), LayoutError);
      const target = cuda.image({ dtype: "u8", channels: 4 });
      fails("linear", () => target.importMemory(0, { shape: [4, 4, 4], size: 64, tiling: "linear" }), LayoutError);
      fails("a memfd", () => cuda.importMemory(libc().memfd_create(cString("none of a GPU's"), 0), init));
    },
  },
  "a dma-buf of half a page": {
    gpus: 1,
    run() {
      using cuda = device();
      using x = cuda.allocate({ shape: [4097], dtype: "u8" });
      using pinned = cuda.pinned.allocate(BYTES);
      using whole = cuda.allocate(BYTES);
      fails("half", () => cuda.exportDmaBuf(x));
      fails("of the host", () => cuda.exportDmaBuf(pinned));
      fails("rubbish", () => cuda.exportDmaBuf(any({})));
      const made = safe("export", () => cuda.exportDmaBuf(whole));
      if (made === undefined) return;
      same("fd", made.fd >= 0, true);
      Deno.inspect(made);
      made[Symbol.dispose]();
      made[Symbol.dispose]();
      fails("fd", () => made.fd, DisposedError);
    },
  },
  "arrays, textures and surfaces that cannot be": {
    gpus: 1,
    async run() {
      using cuda = device();
      const inits = [
        { width: 0 },
        { width: 64, depth: 2 },
        { width: 64, channels: 3 },
        { width: 64, dtype: "f64" },
        { width: 2 ** 40 },
        { width: 64, surface: 1 },
      ];
      for (const init of inits) fails(JSON.stringify(init), () => cuda.array(any({ dtype: "u8", ...init })));
      const array = cuda.array({ width: 64, height: 48, dtype: "u8" });
      for (const options of [{ filter: "best" }, { filter: "linear" }, { address: "wrap" }, { border: [1] }, null]) {
        fails(JSON.stringify(options), () => array.texture(any(options)));
      }
      using tensor = cuda.allocate({ shape: [48, 64], dtype: "u8" });
      using small = cuda.allocate({ shape: [4, 64], dtype: "u8" });
      cuda.stream.copy(tensor, array);
      cuda.stream.copy(array, tensor);
      fails("shape", () => cuda.stream.copy(small, array), LayoutError);
      fails("no array", () => cuda.stream.copy(any(tensor), tensor));
      const texture = array.texture();
      const surface = array.surface();
      same("handles", texture.handle !== surface.handle && array.handle > 0n, true);
      same("shape", array.shape.join(), "48,64,1");
      array.describe();
      texture.usedBy(cuda.stream.fence());
      array.usedBy(cuda.stream.fence());
      Deno.inspect([array, texture]);
      surface[Symbol.dispose]();
      await texture[Symbol.asyncDispose]();
      fails("texture", () => texture.handle, DisposedError);
      using readOnly = cuda.array({ width: 64, dtype: "f32", surface: false });
      fails("surface", () => readOnly.surface());
      await array[Symbol.asyncDispose]();
      array[Symbol.dispose]();
      fails("array", () => cuda.stream.copy(tensor, array), DisposedError);
      fails("a texture of it", () => array.texture(), DisposedError);
    },
  },
  "memory attached that is not the device's": {
    gpus: 1,
    run() {
      using cuda = device();
      using memory = host.allocate(BYTES);
      const gone = cuda.allocate(BYTES);
      const freed = gone.handle;
      gone[Symbol.dispose]();
      let ended = 0;
      const addresses = [0n, -1n, 2n ** 64n, 4096, NaN, "4096", null, undefined, {}, memory.handle, freed, 16n];
      for (const address of addresses) {
        const attach = () => cuda.attach(any(address), BYTES, { owner: () => void ended++ });
        fails(String(address), attach, ArgumentError);
      }
      same("owners", ended, addresses.length);
      using x = cuda.allocate(BYTES);
      fails("unaligned", () => cuda.attach(x.handle + 2n, { shape: [4], dtype: "f32" }), ArgumentError);
      for (const options of [null, 1, { owner: 1 }, { access: "all" }, { after: 1 }, { acces: "read" }]) {
        fails(JSON.stringify(options), () => cuda.attach(x.handle, BYTES, any(options)), ArgumentError);
      }
      for (const init of [{ shape: [4097], dtype: "u8" }, { ...BYTES, byteOffset: 1 }, { ...BYTES, dtype: "f32" }]) {
        fails(JSON.stringify(init), () => cuda.attach(x.handle, any(init)), LayoutError);
      }
      cuda.attach(x.handle + 4095n, { shape: [2], dtype: "u8" });
    },
    fails: {
      ...{ error: LayoutError, api: "cuda", fn: "cuPointerGetAttribute", argument: "init" },
      message: /it reaches to byte 2; the memory has 1/,
    },
  },
  "memory attached, when its owner, another peer and the context are gone": {
    gpus: 1,
    run() {
      const cuda = device();
      using k = kernels(cuda);
      const own = cuda.allocate(BYTES);
      let ended = 0;
      const [one, two] = [1, 2].map(() => cuda.attach(own.handle, BYTES, { owner: () => void ended++ }));
      own[Symbol.dispose]();
      one[Symbol.dispose]();
      same("owners while a peer is left", ended, 0);
      k.add.run(ONE, [two, 1]); // the memory is its too
      fails("one", () => one.handle, DisposedError);
      const address = two.handle;
      cuda[Symbol.dispose]();
      same("owners", ended, 2);
      fails("two", () => two.handle, DisposedError);
      cuda.attach(address, BYTES);
    },
    fails: { error: DisposedError, api: "core", message: /was disposed/ },
  },
});
