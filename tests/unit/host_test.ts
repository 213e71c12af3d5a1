import { type Address, NULL } from "../../ffi/address.ts";
import { MAP_ANONYMOUS, MAP_FIXED, MAP_PRIVATE, MAP_SHARED, PROT_READ, PROT_WRITE } from "../../ffi/libc/constants.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { type LayoutInit, region, VENDOR_RULES } from "../../src/core/layout/layout.ts";
import type { DType } from "../../src/core/layout/dtype.ts";
import { AccessError, ArgumentError, LayoutError, NativeCallError } from "../../src/core/errors.ts";
import { ledger } from "../../src/core/life/ledger.ts";
import { imageInfo } from "../../src/core/layout/frame_info.ts";
import { libc } from "../../src/core/native/libc.ts";
import { host } from "../../src/host/context.ts";
import { runModule } from "../process.ts";
import { collect } from "../gc.ts";
import { warningsOf, withEmptyLedger } from "./ledger.ts";

const eight = { shape: [8], dtype: "u8" } as const;

function linesOfMaps(): number {
  return Deno.readTextFileSync("/proc/self/maps").split("\n").length;
}

Deno.test(
  "allocate: aligned, zeroed, a multiple of 64 bytes long, gone afterwards",
  withEmptyLedger(() => {
    const anyPlacement = fc.record({
      count: fc.integer({ min: 1, max: 20_000 }),
      power: fc.integer({ min: 1, max: 21 }),
      sharable: fc.boolean(),
      guard: fc.boolean(),
    });
    fc.assert(
      fc.property(anyPlacement, ({ count, power, sharable, guard }) => {
        const align = 2 ** power;
        const tensor = host.allocate({ shape: [count], dtype: "u16", align, sharable, guard });
        const { address, byteLength } = tensor.grant.allocation.block;
        assertEquals(tensor.address % BigInt(guard ? align : Math.max(align, 4096)), 0n);
        assertEquals(byteLength, guard ? Math.ceil(count * 2 / 4096) * 4096 : Math.ceil(count * 2 / 64) * 64);
        const after = address! + BigInt(byteLength) - tensor.address - BigInt(count * 2);
        if (guard) assert(after < Math.max(align, 2) && after < 4096, `${after} bytes after the end are not guarded`);
        const view = tensor.view();
        assert(view.every((n) => n === 0));
        view.fill(0xffff);
        assertEquals(ledger.alive, sharable ? { "host.block": 1, "host.fd": 1 } : { "host.block": 1 });
        tensor[Symbol.dispose]();
      }),
      { numRuns: 300 },
    );
    // Warm by now: what comes on top would be left over.
    const before = linesOfMaps();
    for (let i = 0; i < 100; i++) host.allocate({ ...eight, align: 65536, guard: true })[Symbol.dispose]();
    assert(linesOfMaps() - before < 20);
  }),
);

const thp = "/sys/kernel/mm/transparent_hugepage/enabled";
const hasHugePages = !readable(thp).includes("[never]");

/** The text of a file; of one that is not there, what it says where there are no huge pages. */
function readable(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "[never]";
  }
}

/** Kilobytes of huge pages in this process. */
function hugeKilobytes(): number {
  return Number(/AnonHugePages: +(\d+)/.exec(Deno.readTextFileSync("/proc/self/smaps_rollup"))![1]);
}

Deno.test({
  name: hasHugePages ? "allocate() takes huge pages" : "allocate() takes huge pages (not here: the kernel has none)",
  ignore: !hasHugePages,
  fn: withEmptyLedger(() => {
    const before = hugeKilobytes();
    for (const options of [{}, { align: 65536 }, { guard: true }]) {
      using tensor = host.allocate({ shape: [16 << 20], dtype: "u8", ...options });
      tensor.view().fill(1);
      assert(hugeKilobytes() - before >= 8 << 10, `${hugeKilobytes() - before} kB of 16 MiB`);
    }
  }),
});

Deno.test(
  "allocate: a first element past the start, padded rows",
  withEmptyLedger(() => {
    using tensor = host.allocate({ shape: [2, 3], dtype: "f32", byteOffset: 8, rowAlign: 64 });
    assertEquals(tensor.address - tensor.handle, 8n);
    assertEquals(tensor.layout.strides, [64, 4]);
    assertEquals(tensor.view().length, (64 + 12) / 4);
  }),
);

Deno.test(
  "elements() copies the elements alone, in the order of the shape",
  withEmptyLedger(() => {
    using image = host.allocate({ shape: [4, 5, 3], dtype: "u16", rowAlign: 64 });
    image.view().forEach((_, i, all) => all[i] = i);
    const numbers = Array.from({ length: 60 }, (_, i) => 32 * Math.floor(i / 15) + i % 15);
    assertEquals(image.elements(), new Uint16Array(numbers));
    using part = image.slice(region(image.layout, [1, 2, 1], [2, 1, 2]), { access: "read" });
    assertEquals(part.elements(), new Uint16Array([39, 40, 71, 72]));
    using turned = host.allocate({ shape: [2, 3], dtype: "f32", strides: [4, 8] });
    turned.view().set([1, 2, 3, 4, 5, 6]);
    const copy = turned.elements();
    assertEquals(copy, new Float32Array([1, 3, 5, 2, 4, 6]));
    copy.fill(0);
    assertEquals(turned.view()[5], 6);
    using taken = turned.slice(turned.layout);
    assertThrows(() => turned.elements(), AccessError);
    assertEquals(taken.elements()[3], 2);
  }),
);

Deno.test(
  "allocate: what is wrong is refused before anything is mapped, and named",
  withEmptyLedger(() => {
    const wrong: [object, string][] = [
      [{ shape: [0], dtype: "u8" }, "shape[0]"],
      [{ shape: [8], dtype: "u9" }, "dtype"],
      [{ ...eight, align: 3 }, "align"],
      [{ ...eight, align: 0 }, "align"],
      [{ ...eight, align: 0.5 }, "align"],
      [{ ...eight, align: "8" }, "align"],
      [{ ...eight, align: 2 ** 49 + 1 }, "align"],
      [{ ...eight, align: 2 ** 49 + 1, guard: true }, "align"],
      [{ ...eight, strides: [1, 1] }, "strides"],
      [{ ...eight, byteOffset: -1 }, "byteOffset"],
    ];
    for (const [init, argument] of wrong) {
      const error = assertThrows(() => host.allocate(init as LayoutInit), LayoutError);
      assertEquals(error.argument, argument);
      assert(error.api === "core" || error.api === "host");
    }
    const info = imageInfo({ format: "GRAY8", width: 8, height: 8 });
    for (const argument of ["guard", "sharable"]) {
      for (const value of ["x", 1, null]) {
        const placement = { [argument]: value };
        for (
          const make of [() => host.allocate({ ...eight, ...placement }), () => host.allocateFrame(info, placement)]
        ) {
          const error = assertThrows(make, ArgumentError, "expected a boolean");
          assertEquals([error.api, error.argument], ["host", argument]);
        }
      }
    }
  }),
);

Deno.test(
  "allocate: too much memory is the kernel's error, with its name, and leaves nothing behind",
  withEmptyLedger(() => {
    for (const placement of [{}, { sharable: true }, { guard: true }, { align: 2 ** 21 }, { align: 2 ** 52 }]) {
      const error = assertThrows(
        () => host.allocate({ shape: [2 ** 49], dtype: "u8", ...placement }),
        NativeCallError,
        "mmap failed with ENOMEM",
      );
      assertEquals([error.api, error.fn, error.code, error.codeName], ["libc", "mmap", 12, "ENOMEM"]);
    }
  }),
);

Deno.test(
  "an error's code is libc's own, whatever Deno's locks leave in its place a moment later",
  withEmptyLedger(() => {
    const { close } = libc();
    const { create } = Deno.UnsafePointer;
    Deno.UnsafePointer.create = (address) => {
      close(-1); // EBADF
      return create(address);
    };
    try {
      const error = assertThrows(() => host.allocate({ shape: [2 ** 49], dtype: "u8" }), NativeCallError);
      assertEquals(error.codeName, "ENOMEM");
    } finally {
      Deno.UnsafePointer.create = create;
    }
  }),
);

Deno.test("the guard page ends a process that writes past the end, but not one that writes to the end", async () => {
  const source = (past: boolean) => `
    import { host } from "./src/host/mod.ts";
    const tensor = host.allocate({ shape: [4096], dtype: "u8", guard: true });
    const byte = tensor.address + ${past ? "4096n" : "4095n"};
    new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(byte), 1))[0] = 1;
    console.log("survived");
  `;
  assertEquals((await runModule(source(false))).stdout, "survived\n");
  const { stdout, code, signal } = await runModule(source(true));
  assertEquals([stdout, signal ?? code], ["", "SIGSEGV"]);
});

Deno.test("the guard page catches the first byte after the tensor, whatever its length", async () => {
  const source = (allocation: string, at: string) => `
    import { host } from "./src/host/mod.ts";
    import { imageInfo } from "./src/core/layout/frame_info.ts";
    const tensor = ${allocation};
    const byte = tensor.address + BigInt(tensor.layout.byteLength) + ${at};
    new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(byte), 1))[0] = 1;
    console.log("survived");
  `;
  const info = `imageInfo({ format: "NV12", width: 6, height: 6 })`;
  const guarded = [
    `host.allocate({ shape: [5], dtype: "u8", guard: true })`,
    `host.allocate({ shape: [4097], dtype: "u8", sharable: true, guard: true })`,
    `host.allocate({ shape: [3, 5], dtype: "f32", byteOffset: 8, guard: true })`,
    `host.allocate({ shape: [48], dtype: "u8", align: 16, guard: true })`,
    `host.allocateFrame(${info}, { guard: true }).planes[1]`,
  ];
  await Promise.all(guarded.map(async (allocation) => {
    assertEquals((await runModule(source(allocation, "-1n"))).stdout, "survived\n", allocation);
    const { stdout, code, signal } = await runModule(source(allocation, "0n"));
    assertEquals([stdout, signal ?? code], ["", "SIGSEGV"], allocation);
  }));
  // What remains: the bytes up to the next multiple of the alignment.
  const aligned = `host.allocate({ shape: [40], dtype: "u8", align: 16, guard: true })`;
  assertEquals((await runModule(source(aligned, "7n"))).stdout, "survived\n");
  assertEquals((await runModule(source(aligned, "8n"))).signal, "SIGSEGV");
});

Deno.test("fds at their limit: EMFILE, and nothing leaks", async () => {
  const source = `
    import { host } from "./src/host/mod.ts";
    import { ledger } from "./src/core/life/ledger.ts";
    const made = [];
    try {
      for (;;) made.push(host.allocate({ shape: [8], dtype: "u8", sharable: true }));
    } catch (error) {
      for (const tensor of made) tensor[Symbol.dispose]();
      console.log(error.name, error.fn, error.codeName, made.length > 10, JSON.stringify(ledger.alive));
    }
  `;
  const path = await Deno.makeTempFile({ suffix: ".ts" });
  const folder = new URL("../../", import.meta.url).href;
  await Deno.writeTextFile(path, source.replaceAll('"./', `"${folder}`));
  const command = `ulimit -n 200; exec "${Deno.execPath()}" run -A --no-check "${path}"`;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", command] }).output();
  await Deno.remove(path);
  assertEquals(new TextDecoder().decode(stdout).trim(), "NativeCallError memfd_create EMFILE true {}");
});

Deno.test(
  "a sharable block has an fd: sealed, and a duplicate outlives the tensor",
  withEmptyLedger(async () => {
    const tensor = host.allocate({ shape: [4096], dtype: "u8", sharable: true });
    tensor.view().fill(7);
    const fd = tensor.exportFd();
    const other = tensor.exportFd();
    assert(fd !== other);
    // Through /proc the fd is a file like any other.
    const path = `/proc/self/fd/${fd}`;
    assertEquals((await Deno.readFile(path))[4095], 7);
    const file = await Deno.open(path, { read: true, write: true });
    await file.write(new Uint8Array([9]));
    assertEquals(tensor.view()[0], 9);
    for (const length of [0, 8192]) {
      const resized = await file.truncate(length).then(() => "resized", (error) => error.name);
      assertEquals(resized, "PermissionDenied");
    }
    file.close();
    using part = tensor.borrow("read");
    assertThrows(() => part.exportFd(), ArgumentError, "has no fd");
    tensor[Symbol.dispose]();
    assertEquals((await Deno.readFile(path)).slice(0, 2), new Uint8Array([9, 7]));
    const { close } = Deno.dlopen("libc.so.6", { close: { parameters: ["i32"], result: "i32" } }).symbols;
    assertEquals([close(fd), close(other)], [0, 0]);
    using plain = host.allocate(eight);
    assertThrows(() => plain.exportFd(), ArgumentError, "sharable: true");
  }),
);

const arrays: [DType, ArrayBufferView<ArrayBuffer>][] = [
  ["u8", new Uint8Array([1, 2])],
  ["u8", new Uint8ClampedArray([1, 2])],
  ["u8", new DataView(new Uint8Array([1, 2]).buffer)],
  ["i8", new Int8Array([1, 2])],
  ["u16", new Uint16Array([1, 2])],
  ["i16", new Int16Array([1, 2])],
  ["f16", new Float16Array([1, 2])],
  ["u32", new Uint32Array([1, 2])],
  ["i32", new Int32Array([1, 2])],
  ["f32", new Float32Array([1, 2])],
  ["u64", new BigUint64Array([1n, 2n])],
  ["i64", new BigInt64Array([1n, 2n])],
  ["f64", new Float64Array([1, 2])],
];
for (const [dtype, array] of arrays) {
  Deno.test(
    `wrap: a ${array.constructor.name} is taken over as ${dtype}, where it lies`,
    withEmptyLedger(() => {
      const address = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(array.buffer)));
      using tensor = host.wrap(array);
      assert(array.buffer.detached);
      assertEquals([tensor.layout.dtype, tensor.layout.shape, tensor.address], [dtype, [2], address]);
      assertEquals([...tensor.view()].map(Number), [1, 2]);
    }),
  );
}

Deno.test(
  "wrap: a part of a buffer keeps its offset, and a layout may be asked for",
  withEmptyLedger(() => {
    const all = new Uint8Array(64);
    const tensor = host.wrap(all.subarray(16, 48), { shape: [2, 3], dtype: "f32", strides: [16, 4], byteOffset: 4 });
    assertEquals([all.length, tensor.layout.byteOffset, tensor.address - tensor.handle], [0, 20, 20n]);
    tensor.view()[0] = 1;
    assertEquals(new Float32Array(tensor.release())[5], 1);
    const refused: [LayoutInit, string][] = [
      [{ shape: [33], dtype: "u8" }, "shape"],
      [{ shape: [8], dtype: "f32", byteOffset: 4 }, "shape"],
      [{ shape: [1], dtype: "f32", byteOffset: 2 }, "byteOffset"],
    ];
    for (const [init, argument] of refused) {
      const part = new Uint8Array(64).subarray(16, 48);
      assertEquals(assertThrows(() => host.wrap(part, init), LayoutError).argument, argument);
      assertEquals(part.length, 32, "a refused buffer stays whole");
    }
    assertThrows(() => host.wrap(new Uint8Array(8).subarray(1, 5), { shape: [1], dtype: "f32" }), LayoutError);
  }),
);

Deno.test(
  "wrap: what cannot be taken over is refused, and stays whole",
  withEmptyLedger(() => {
    using ours = host.allocate(eight);
    const detached = new ArrayBuffer(8);
    detached.transfer();
    const refused: [unknown, string][] = [
      [new SharedArrayBuffer(8), "SharedArrayBuffer"],
      [new Uint8Array(new SharedArrayBuffer(8)), "SharedArrayBuffer"],
      [detached, "detached"],
      [new ArrayBuffer(8, { maxByteLength: 16 }), "resizable"],
      [new WebAssembly.Memory({ initial: 1 }).buffer, "cannot be taken over"],
      [new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer, "SharedArrayBuffer"],
      [ours.view(), "a view of a samepage tensor"],
      [ours.view().buffer, "a view of a samepage tensor"],
      [new ArrayBuffer(0), "empty"],
      [new Uint8Array(8).subarray(8), "empty"],
      [null, "null"],
      [undefined, "got undefined"],
      [0n, "null"],
      [-4096n, "null"],
      [4096, "got a number"],
      ["4096", "got a string"],
      [{}, "got an Object"],
      [Object.create(null), "got an object"],
      [[1, 2], "got an Array"],
    ];
    for (const [memory, why] of refused) {
      const error = assertThrows(() => host.wrap(memory as bigint, eight), ArgumentError, why);
      assertEquals([error.api, error.fn, error.argument], ["host", "wrap", "memory"]);
    }
    assertEquals(ours.view().length, 8);
    assertEquals(assertThrows(() => host.wrap(4096n, undefined!), ArgumentError).argument, "init");
  }),
);

Deno.test(
  "wrap: a pointer that nothing can be read at is refused, the first page or a later one",
  withEmptyLedger(() => {
    using tensor = host.allocate({ shape: [8192], dtype: "u8", guard: true });
    const pointer = Deno.UnsafePointer.create(1n);
    const beyond = 2n ** 64n + tensor.address;
    for (
      const [bad, count] of [[pointer, 8], [2n ** 47n, 8], [2n ** 63n, 8], [2n ** 64n - 4n, 8], [2n ** 65n, 8], [
        beyond,
        8,
      ]]
    ) {
      const error = assertThrows(
        () => host.wrap(bad as bigint, { shape: [count as number], dtype: "u8" }),
        ArgumentError,
      );
      assert(["pointer", "memory"].includes(error.argument!));
    }
    const { address } = tensor;
    tensor[Symbol.dispose]();
    assertThrows(() => host.wrap(address, eight), ArgumentError, "page 0");
  }),
);

Deno.test(
  "wrap: memory that may only be read is refused, unless it is wrapped to be read",
  withEmptyLedger(() => {
    const page = 4096n;
    const anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    const file = libc().open(new TextEncoder().encode("/proc/self/exe\0"), 0, 0);
    const pages: [string, Address][] = [
      ["anonymous", libc().mmap(NULL, 3n * page, PROT_READ, anonymous, -1, 0n)],
      ["a file's", libc().mmap(NULL, 3n * page, PROT_READ, MAP_PRIVATE, file, 0n)],
      ["a shared file's", libc().mmap(NULL, 3n * page, PROT_READ, MAP_SHARED, file, 0n)],
    ];
    libc().close(file);
    for (const [whose, address] of pages) {
      const error = assertThrows(() => host.wrap(address + 40n, eight), ArgumentError, "is read-only", whose);
      assertEquals([error.api, error.fn, error.argument], ["host", "wrap", "access"]);
      assertEquals(error.hint, 'Wrap it with { access: "read" }.');
      assertThrows(() => host.wrap(address + 40n, eight, { access: "write" }), ArgumentError, "is read-only");
      using read = host.wrap(address + 40n, eight, { access: "read" });
      assertEquals(read.view().length, 8);
      // A peer of those bytes is asked as well.
      assertThrows(() => host.wrap(address + 40n, eight), ArgumentError, "is read-only");
    }
    // One end that may be written does not stand for the other.
    const [[, first]] = pages;
    const whole = { shape: [3 * 4096], dtype: "u8" } as const;
    for (const writable of [first, first + 2n * page]) {
      const around = libc().mmap(first, 3n * page, PROT_READ, anonymous | MAP_FIXED, -1, 0n);
      libc().mmap(writable as Address, page, PROT_READ | PROT_WRITE, anonymous | MAP_FIXED, -1, 0n);
      const readOnly = writable === around ? around + page : around;
      assertThrows(() => host.wrap(first, whole), ArgumentError, readOnly.toString(16));
      host.wrap(writable, { shape: [4096], dtype: "u8" })[Symbol.dispose]();
    }
    for (const [, address] of pages) libc().munmap(address, 3n * page);
  }),
);

Deno.test(
  "wrap: to ask whether memory may be written changes no byte of it",
  withEmptyLedger(() => {
    const bytes = crypto.getRandomValues(new Uint8Array(20_000));
    const before = bytes.slice();
    using wrapped = host.wrap(Deno.UnsafePointer.of(bytes), { shape: [20_000], dtype: "u8" }, { keepAlive: bytes });
    assertEquals(wrapped.view(), before);
  }),
);

Deno.test(
  "wrap: every page is probed, thousands too",
  withEmptyLedger(() => {
    // A buffer that samepage does not know, and the addresses after its end, where sooner or later nothing is mapped.
    const buffer = new ArrayBuffer(1 << 24);
    const pointer = Deno.UnsafePointer.of(buffer);
    host.wrap(pointer, { shape: [1 << 24], dtype: "u8" })[Symbol.dispose]();
    assertThrows(() => host.wrap(pointer, { shape: [2 ** 46], dtype: "u8" }), ArgumentError, "cannot be read");
  }),
);

Deno.test(
  "wrap: a pointer is other code's memory, kept by what was given, for as long as it is wrapped",
  withEmptyLedger(async () => {
    let owner: { buffer: Uint8Array } | undefined = { buffer: new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]) };
    const pointer = Deno.UnsafePointer.of(owner.buffer);
    const collected = new WeakRef(owner);
    const tensor = host.wrap(pointer, { shape: [2], dtype: "u32" }, { access: "read", keepAlive: owner });
    owner = undefined;
    await collect();
    assert(collected.deref() !== undefined);
    assertEquals([...tensor.view()], [0x04030201, 0x08070605]);
    assertThrows(() => tensor.view({ access: "read-write" }), AccessError);
    assertEquals(ledger.alive, { "host.foreign": 1 });
    tensor[Symbol.dispose]();
    await collect();
    assertEquals(collected.deref(), undefined);
  }),
);

Deno.test(
  "wrap: where a view of foreign memory was moved away, its owner is kept for good",
  withEmptyLedger(async () => {
    let owner: Uint8Array | undefined = new Uint8Array(8);
    const collected = new WeakRef(owner);
    const tensor = host.wrap(Deno.UnsafePointer.of(owner), eight, { keepAlive: owner });
    owner = undefined;
    const moved = tensor.view().buffer.transfer();
    await warningsOf(() => tensor[Symbol.dispose]());
    await collect();
    assert(collected.deref() !== undefined);
    assertEquals(moved.byteLength, 8);
  }, { quarantined: 8 }),
);

Deno.test(
  "wrap: within memory that samepage knows it is a peer; in part over it, it is refused",
  withEmptyLedger(() => {
    const tensor = host.wrap(new Uint8Array(4096));
    const inside = host.wrap(tensor.address + 64n, { shape: [64], dtype: "u8" });
    assertEquals(inside.grant.allocation, tensor.grant.allocation);
    for (
      const [address, count] of [[tensor.address - 8n, 16], [tensor.address + 4090n, 16], [
        tensor.address - 8n,
        8192,
      ]] as const
    ) {
      assertThrows(() => host.wrap(address, { shape: [count], dtype: "u8" }), ArgumentError, "in part");
    }
    tensor[Symbol.dispose]();
    inside.view().fill(1);
    inside[Symbol.dispose]();
  }),
);

Deno.test(
  "a misaligned pointer can be wrapped and mapped, but not viewed",
  withEmptyLedger(() => {
    const buffer = new Uint8Array(64);
    const base = BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer)));
    using tensor = host.wrap(base + 1n, { shape: [4], dtype: "f32" });
    const error = assertThrows(() => tensor.view(), LayoutError, "not a multiple of the element's 4 bytes");
    assertEquals(error.argument, "byteOffset");
    assertEquals(buffer.length, 64);
  }),
);

Deno.test(
  "checkAlignment says what a vendor's rule lacks, and what to do",
  withEmptyLedger(() => {
    using tensor = host.allocate({ shape: [128], dtype: "u8" });
    assertEquals(host.checkAlignment(tensor, VENDOR_RULES.intel), { ok: true, problems: [], remedy: undefined });
    using part = tensor.slice({ ...tensor.layout, shape: [100], byteOffset: 28, byteLength: 100 });
    const report = host.checkAlignment(part, VENDOR_RULES.intel);
    assertEquals(report.problems, [
      `the address 0x${part.address.toString(16)} is 28 bytes past a multiple of 4096.`,
      "the length 100 is not a multiple of 64.",
    ]);
    assert(report.remedy!.includes("align: 4096"));
  }),
);

const use = `
  import { host } from "./src/host/mod.ts";
  try {
    using tensor = host.allocate({ shape: [8], dtype: "u8" });
    console.log("allocated", tensor.view().length);
  } catch (error) {
    console.log(error.constructor.name, error.flag, error.api);
  }
`;

Deno.test("without --allow-ffi: a PermissionError that names the flag", async () => {
  assertEquals((await runModule(use, { flags: [] })).stdout, "PermissionError --allow-ffi libc\n");
});

Deno.test("with an --allow-ffi that covers only a path: a PermissionError that names the flag", async () => {
  for (const scope of ["/usr/lib", "/lib/x86_64-linux-gnu/libc.so.6"]) {
    const { stdout, stderr } = await runModule(use, { flags: [`--allow-ffi=${scope}`] });
    assert(/^PermissionError --allow-ffi /.test(stdout), stdout + stderr);
  }
});

Deno.test("with --allow-ffi and nothing more, it works", async () => {
  const { stdout, stderr } = await runModule(use, { flags: ["--allow-ffi"] });
  assertEquals([stdout, stderr], ["allocated 8\n", ""]);
});
