/**
 * What is not memory is refused by its driver, and leaves the fds as they were: also those that had the numbers of
 * closed ones. Apart from the other tests: a driver that crashes on such an fd takes only these with it.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { InteropError, ledger } from "@samepage/interop";
import type { HasLine } from "@samepage/interop/backend";
import type { MemoryTarget } from "../../src/core/contract.ts";
import { Port } from "../../src/core/device/port.ts";
import { closeFd, duplicateFd, statusOf } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { cString } from "../../src/core/native/text.ts";
import { assertFdsEnd, type Gpu, gpus, sharingTest } from "./gpu.ts";
import { importedApart } from "../../bench/operations/apart.ts";

const SHAPE = { shape: [1 << 20], dtype: "u8" } as const;

const OPENERS: Readonly<Record<string, (gpu: Gpu) => MemoryTarget & HasLine & Disposable>> = {
  Vulkan: (gpu) => gpu.vulkan(),
  OpenCL: (gpu) => gpu.opencl(),
  CUDA: (gpu) => gpu.cuda(),
};

/** An fd of ordinary memory, of which no GPU has heard. */
function ordinary(): number {
  const fd = libc().memfd_create(cString("ordinary"), 0);
  libc().ftruncate(fd, BigInt(SHAPE.shape[0]));
  return fd;
}

for (const [api, open] of Object.entries(OPENERS)) {
  sharingTest(`${api} refuses the fd of ordinary memory, and one that is closed`, () => {
    using context = open(gpus[0]);
    const importing = (fd: number) => {
      using port = new Port("opaque-fd", { fd, byteLength: SHAPE.shape[0] });
      context.ports.import!(port, "read-write");
    };
    const tried = (fd: () => number) => {
      const bystander = ordinary();
      const before = statusOf(bystander).identity;
      assertThrows(() => importing(fd()), InteropError, undefined, api);
      const after = ordinary(); // it may get the number of the fd that was refused
      assertEquals(statusOf(bystander).identity, before);
      closeFd(after); // still open: nothing else has closed it
      closeFd(bystander);
    };
    const closed = () => {
      const fd = ordinary();
      closeFd(fd);
      return fd;
    };
    tried(ordinary); // what a driver opens once, and keeps
    tried(closed);
    const { alive } = ledger;
    assertFdsEnd(() => {
      tried(ordinary);
      tried(closed);
    });
    assertEquals(ledger.alive, alive);
  });

  sharingTest(`${api} imports a memory twice: both see it, and the fds go with them`, () => {
    using vulkan = gpus[0].vulkan();
    using context = open(gpus[0]);
    using memory = vulkan.allocate(SHAPE);
    const [bytes, seen] = [new Uint8Array(SHAPE.shape[0]).map((_, i) => i * 7), new Uint8Array(SHAPE.shape[0])];
    const twice = () => {
      using one = importedApart(memory, context);
      using other = importedApart(memory, context);
      const { copies } = context.ports;
      assert(copies !== undefined, `${api} has copies`);
      copies.write(one.tensor, bytes);
      copies.read(other.tensor, seen.fill(0));
      assertEquals(seen, bytes);
    };
    assertFdsEnd(twice);
  });
}

sharingTest("an fd that a program has exported by hand stays its own", () => {
  using cuda = gpus[0].cuda();
  using memory = cuda.virtual.allocate(SHAPE);
  const fd = cuda.virtual.exportFd(memory);
  const { identity } = statusOf(fd);
  for (const open of Object.values(OPENERS)) {
    using context = open(gpus[0]);
    if (context.kind === "cuda") continue; // it imports such an fd by cuda.virtual.import
    using port = new Port("opaque-fd", { fd: duplicateFd(fd), byteLength: memory.grant.allocation.block.byteLength });
    const imported = context.ports.import!(port, "read-write");
    const acquired = imported.begin?.();
    if (acquired !== undefined) context.line.submitRaw(acquired).waitSync();
    const handedBack = imported.end?.();
    if (handedBack !== undefined) context.line.submitRaw(handedBack).waitSync();
    imported.release?.();
    assertEquals(statusOf(fd).identity, identity, context.kind);
  }
  closeFd(fd);
});
