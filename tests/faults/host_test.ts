/** Every native call of the host's memory fails once: what comes of it is typed, and nothing stays behind. */
import { assert, assertEquals } from "@std/assert";
import { host, imageInfo, ledger } from "../../mod.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();

const libc = Deno.dlopen("libc.so.6", { close: { parameters: ["i32"], result: "i32" } }).symbols;

function openFds(): number {
  return [...Deno.readDirSync("/proc/self/fd")].length;
}

function test(name: string, operation: () => void): void {
  Deno.test(`faults: ${name}`, async () => {
    operation();
    const fds = openFds();
    const faults = await sweep(operation, () => assertEquals(openFds(), fds, "open fds"));
    assert(faults.length > 0, "it makes no native call");
  });
}

test("host.allocate", () => {
  using tensor = host.allocate({ shape: [100], dtype: "f32" });
  tensor.view().fill(1);
});

test("host.allocate, aligned beyond a page", () => {
  using tensor = host.allocate({ shape: [100], dtype: "f32", align: 65536 });
  tensor.view().fill(1);
});

test("host.allocate with a guard page", () => {
  using tensor = host.allocate({ shape: [100], dtype: "u8", align: 8192, guard: true });
  tensor.view().fill(1);
});

test("host.allocate, sharable", () => {
  using tensor = host.allocate({ shape: [5000], dtype: "u8", sharable: true, guard: true });
  libc.close(tensor.exportFd());
});

test("host.allocateFrame", () => {
  using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 64, height: 48 }), { rowAlign: 128 });
  frame.planes[1].bytes().fill(1);
});

test("host.wrap of a pointer to known memory", () => {
  using tensor = host.allocate({ shape: [100], dtype: "u8" });
  using _peer = host.wrap(tensor.handle, { shape: [100], dtype: "u8" });
});

const kept = [
  { what: "a block of its own", init: { shape: [1 << 20], dtype: "u8" }, call: "libc.munmap", bytes: 1 << 20 },
  { what: "a block of a slab", init: { shape: [5000], dtype: "u8" }, call: "libc.madvise", bytes: 8192 },
] as const;
for (const { what, init, call, bytes } of kept) {
  Deno.test(`faults: ${what} that cannot be given back is in the ledger as quarantined`, async () => {
    const before = ledger.quarantinedBytes;
    const faults = await sweep(() => host.allocate(init)[Symbol.dispose]());
    assertEquals(faults.filter((fault) => fault.call === call).length, 1);
    assertEquals(ledger.quarantinedBytes - before, bytes);
  });
}

Deno.test("faults: host.wrap of a pointer that cannot be probed takes it at its word", async () => {
  const bytes = new Uint8Array(new ArrayBuffer(10_000));
  const address = Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
  const faults = await sweep(
    () => {
      using tensor = host.wrap(BigInt(address), { shape: [10_000], dtype: "u8" }, { keepAlive: bytes });
      tensor.view()[9_999]++;
    },
    undefined,
    ["libc.process_vm_readv", "libc.madvise"],
  );
  assertEquals(faults.map((fault) => fault.call), ["libc.process_vm_readv", "libc.madvise", "libc.madvise"]);
});
