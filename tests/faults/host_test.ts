/** Every native call of the host's memory fails once: what comes of it is typed, and nothing stays behind. */
import { assert, assertEquals } from "@std/assert";
import { host, imageInfo, ledger } from "../../mod.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";
import { assertOpenFds, openFds } from "../gc.ts";

installTap();

const libc = Deno.dlopen("libc.so.6", {
  close: { parameters: ["i32"], result: "i32" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
  ftruncate: { parameters: ["i32", "i64"], result: "i32" },
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
}).symbols;

/** A memfd as another program makes it: by calls that do not fail. */
function memfd(): number {
  const fd = libc.memfd_create(new TextEncoder().encode("theirs\0"), 2);
  libc.ftruncate(fd, 4096n);
  libc.fcntl(fd, 1033, 2); // F_ADD_SEALS, F_SEAL_SHRINK
  return fd;
}

function test(name: string, operation: () => void): void {
  Deno.test(`faults: ${name}`, async () => {
    operation();
    const fds = openFds();
    const faults = await sweep(operation, () => assertOpenFds(fds));
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

test("host.attach of known memory, which can be written from now on", () => {
  const fd = memfd();
  const forReading = libc.open(new TextEncoder().encode(`/proc/self/fd/${fd}\0`), 0);
  try {
    using _reader = host.attach(forReading, { shape: [100], dtype: "u8" });
    using tensor = host.attach(fd, { shape: [100], dtype: "u8" });
    tensor.view().fill(1);
  } finally {
    libc.close(fd);
    libc.close(forReading);
  }
});

test("a port of a memfd, and back", () => {
  using tensor = host.allocate({ shape: [100], dtype: "u8", sharable: true });
  const { port } = host.ports.export!(tensor, "memfd", 100, "read", false);
  host.ports.import!(port, "read").release!();
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

Deno.test("faults: host.allocate() gives small pages if the kernel has no huge ones", async () => {
  const large = { shape: [4 << 20], dtype: "u8" } as const;
  const faults = await sweep(
    () => {
      using tensor = host.allocate(large);
      tensor.view()[0] = 1;
    },
    undefined,
    ["libc.madvise"],
  );
  assertEquals(faults.filter(({ call }) => call === "libc.madvise").length, 1);
});

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
