/** Memory and semaphores of other APIs, over a recording: what CUDA is asked for, who closes which fd, what ends when. */
import { assertEquals, assertThrows } from "@std/assert";
import {
  CUexternalSemaphoreSignalParams,
  CUexternalSemaphoreWaitParams,
  readCUexternalSemaphoreSignalParams,
  readCUexternalSemaphoreWaitParams,
} from "../../ffi/cuda_driver/structs.ts";
import {
  cudaExternalMemoryHandleTypeOpaqueFd,
  cudaExternalSemaphoreHandleTypeOpaqueFd,
  cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd,
  cudaStreamPerThread,
} from "../../ffi/cuda_runtime/constants.ts";
import { cudaErrorInvalidValue, cudaErrorNotReady } from "../../ffi/cuda_runtime/errors.ts";
import {
  readCudaExternalMemoryBufferDesc,
  readCudaExternalMemoryHandleDesc,
  readCudaExternalSemaphoreHandleDesc,
} from "../../ffi/cuda_runtime/structs.ts";
import type { Access } from "../../src/core/memory/access.ts";
import type { Imported } from "../../src/core/contract.ts";
import { Port } from "../../src/core/device/port.ts";
import { ArgumentError, LayoutError, NativeCallError } from "../../src/core/errors.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { libc } from "../../src/core/native/libc.ts";
import { cString } from "../../src/core/native/text.ts";
import { importAs } from "../../src/core/tensors/over.ts";
import { CudaContext, type CudaTensor } from "../../src/cuda/mod.ts";
import { assertOpenFds, openFds } from "../gc.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";

const ADDRESS = 0x7000_0000n;
const HANDLE = 0x55n;

/** What was asked of the driver, in words. */
const told: unknown[][] = [];
/** The next call of this name fails. */
let failing: string | undefined;
/** The device is still at work. */
let isBusy = false;
/** The fds that the driver owns, by its handles. */
const held = new Map<bigint, number>();

function answer(name: string, ...about: unknown[]): number {
  told.push([name, ...about]);
  return failing === name ? cudaErrorInvalidValue : 0;
}

const FAKES: Fakes = {
  cudaImportExternalMemory: (out: BigUint64Array, view: DataView) => {
    const { type, handle, size, flags } = readCudaExternalMemoryHandleDesc(view, 0);
    const fd = Number(handle);
    const code = answer("cudaImportExternalMemory", type, size, flags);
    if (code !== 0) closeFd(fd); // as the driver does
    else held.set(out[0] = HANDLE, fd);
    return code;
  },
  cudaExternalMemoryGetMappedBuffer: (out: BigUint64Array, handle: bigint, view: DataView) => {
    out[0] = ADDRESS;
    const { offset, size, flags } = readCudaExternalMemoryBufferDesc(view, 0);
    return answer("cudaExternalMemoryGetMappedBuffer", handle, offset, size, flags);
  },
  cudaFree: (address: bigint) => answer("cudaFree", address),
  cudaDestroyExternalMemory: (handle: bigint) => {
    closeFd(held.get(handle)!);
    held.delete(handle);
    return answer("cudaDestroyExternalMemory", handle);
  },
  cudaImportExternalSemaphore: (out: BigUint64Array, view: DataView) => {
    const { type, handle, flags } = readCudaExternalSemaphoreHandleDesc(view, 0);
    const fd = Number(handle);
    const code = answer("cudaImportExternalSemaphore", type, flags);
    if (code !== 0) return code;
    out[0] = HANDLE;
    while (held.has(out[0])) out[0]++;
    held.set(out[0], fd);
    return code;
  },
  cuSignalExternalSemaphoresAsync: (handles: BigUint64Array, view: DataView, count: number, stream: bigint) => {
    const told = Array.from(handles, (handle, i) => {
      const { fence_value, flags } = readCUexternalSemaphoreSignalParams(
        view,
        i * CUexternalSemaphoreSignalParams.size,
      );
      return [handle, fence_value, flags];
    });
    return answer("cuSignalExternalSemaphoresAsync", ...told.flat(), count, stream);
  },
  cuWaitExternalSemaphoresAsync: (handles: BigUint64Array, view: DataView, count: number, stream: bigint) => {
    const told = Array.from(handles, (handle, i) => {
      const { fence_value, flags } = readCUexternalSemaphoreWaitParams(
        view,
        i * CUexternalSemaphoreWaitParams.size,
      );
      return [handle, fence_value, flags];
    });
    return answer("cuWaitExternalSemaphoresAsync", ...told.flat(), count, stream);
  },
  cudaDestroyExternalSemaphore: (handle: bigint) => {
    closeFd(held.get(handle)!);
    held.delete(handle);
    return answer("cudaDestroyExternalSemaphore", handle);
  },
  cudaIpcGetEventHandle: () => 0,
  cudaEventQuery: () => isBusy ? cudaErrorNotReady : 0,
  cudaStreamWaitEvent: (stream: bigint) => answer("cudaStreamWaitEvent", stream),
  cudaMemcpy: (...copied: unknown[]) => answer("cudaMemcpy", ...copied),
} as Record<string, (...args: never[]) => number>;

const over = recordedTests(FAKES);

/** No fd is left open, whatever happened. */
function recordedTest(name: string, run: (cuda: CudaContext) => void): void {
  over(name, () => {
    const cuda = CudaContext.open();
    const fds = openFds();
    [failing, told.length] = [undefined, 0];
    run(cuda);
    failing = undefined;
    cuda[Symbol.dispose]();
    assertOpenFds(fds);
  });
}

/** An fd that stands for one of a driver's. */
function someFd(): number {
  return libc().memfd_create(cString("of a driver"), 0);
}

/** A port to a part of memory. */
function portTo(offset: number, byteLength: number): Port {
  return new Port("opaque-fd", { fd: someFd(), offset, byteLength });
}

/** Memory of another API. */
function blockOf(byteLength: number): Allocation {
  const allocation = new Allocation({ kind: "test.block", byteLength, free: () => void told.push(["free"]) });
  allocation.join();
  return allocation;
}

/** As the graph imports. */
function imported({ ports }: CudaContext, port: Port, of: Allocation): Imported {
  using from = port;
  const take = ports.import as (port: Port, access: Access, of?: Allocation) => Imported;
  return take(from, "read-write", of);
}

const RECEIVED = { layouts: [layout({ shape: [64], dtype: "u8" })], access: "read-write" } as const;
const FREED = [["cudaFree", ADDRESS], ["cudaDestroyExternalMemory", HANDLE]];
const MADE = [
  ["cudaImportExternalMemory", cudaExternalMemoryHandleTypeOpaqueFd, 4096n, 0],
  ["cudaExternalMemoryGetMappedBuffer", HANDLE, 0n, 4096n, 0],
];

recordedTest("an fd of another process's memory is imported whole, and lives as long as its tensor", (cuda) => {
  using tensor = importAs(cuda, portTo(1024, 3072), RECEIVED) as CudaTensor;
  assertEquals(told.splice(0), MADE);
  assertEquals([tensor.handle, tensor.memory], [ADDRESS + 1024n as never, "external"]);
  tensor[Symbol.dispose]();
  assertEquals(told, FREED);
});

recordedTest("other code's memory by its fd is imported whole, and the fd stays the caller's", (cuda) => {
  const fd = someFd();
  libc().ftruncate(fd, 4096n);
  const fds = openFds();
  {
    using words = cuda.importMemory(fd, { shape: [64], dtype: "u32", byteOffset: 1024, size: 4096 });
    assertEquals(told.splice(0), MADE);
    assertEquals([words.address, words.memory, openFds()], [ADDRESS + 1024n as never, "external", fds + 1]);
  }
  assertEquals([told.splice(0), openFds()], [FREED, fds]);
  const init = { shape: [64], dtype: "u32", size: 4096 } as const;
  assertThrows(() => cuda.importMemory(fd, { ...init, byteOffset: 4000 }), LayoutError, "reaches to byte 4256");
  assertThrows(() => cuda.importMemory(fd, { ...init, uuid: "ff" }), ArgumentError, "of device ff");
  for (const name of ["cudaImportExternalMemory", "cudaExternalMemoryGetMappedBuffer"]) {
    failing = name;
    assertThrows(() => cuda.importMemory(fd, init), NativeCallError, name);
    assertOpenFds(fds);
  }
  closeFd(fd);
});

recordedTest("what fails leaves no fd and no memory: the driver closes an fd that it refuses", (cuda) => {
  for (const name of ["cudaImportExternalMemory", "cudaExternalMemoryGetMappedBuffer"]) {
    failing = name;
    told.length = 0;
    assertThrows(() => importAs(cuda, portTo(0, 4096), RECEIVED), NativeCallError, name);
    const undone = name === "cudaImportExternalMemory" ? [] : [FREED[1]];
    assertEquals(told.slice(name === "cudaImportExternalMemory" ? 1 : 2), undone, name);
  }
});

recordedTest("a block of this process is imported once, and until it is freed", (cuda) => {
  const block = blockOf(4096);
  const handles = [0, 512].map((offset) => imported(cuda, portTo(offset, 512), block).handle);
  assertEquals(handles, [ADDRESS, ADDRESS + 512n]);
  assertEquals(told.splice(0), MADE);
  block.leave();
  assertEquals(told, [...FREED, ["free"]]);
});

recordedTest("the end of the context releases what it has imported, and nothing does so again", (cuda) => {
  const block = blockOf(4096);
  imported(cuda, portTo(0, 4096), block);
  told.length = 0;
  cuda[Symbol.dispose]();
  assertEquals(told.splice(0), FREED);
  block.leave();
  assertEquals(told, [["free"]]);
});

recordedTest("a port that is longer than its block is refused before any call", (cuda) => {
  const block = blockOf(4096);
  assertThrows(() => imported(cuda, portTo(4000, 512), block), LayoutError, "ends at byte 4512");
  block.leave();
  assertEquals(told, [["free"]]);
});

recordedTest("a stream waits for a semaphore and signals it, with the value of a timeline", (cuda) => {
  const { line } = cuda.stream;
  const sync = line.driver.lines.sync!;
  const kinds = [
    ["timeline-fd", cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd],
    ["binary-fd", cudaExternalSemaphoreHandleTypeOpaqueFd],
  ] as const;
  assertEquals([sync.imports, sync.exports], [[...kinds.map(([kind]) => kind), "egl-sync"], ["cuda-event"]]);
  assertEquals(kinds.map(([kind]) => sync.refuses!(line.lane, kind, undefined)), [undefined, undefined]);
  assertEquals(sync.device!(line.lane), cuda.id);
  for (const [kind, type] of kinds) {
    told.length = 0;
    const semaphore = sync.import(new Port(kind, { fd: someFd() }), line.lane);
    sync.wait(line.lane, semaphore, 7n);
    line.submitRaw(sync.signal!([semaphore], [8n]));
    sync.release(semaphore);
    const { stream } = line.lane;
    assertEquals(told, [
      ["cudaImportExternalSemaphore", type, 0],
      ["cuWaitExternalSemaphoresAsync", HANDLE, 7n, 0, 1, stream],
      ["cuSignalExternalSemaphoresAsync", HANDLE, 8n, 0, 1, stream],
      ["cudaDestroyExternalSemaphore", HANDLE],
    ]);
  }
});

recordedTest("the fd of a semaphore that CUDA refuses is closed here", (cuda) => {
  const { line } = cuda.stream;
  failing = "cudaImportExternalSemaphore";
  const port = new Port("binary-fd", { fd: someFd() });
  assertThrows(() => line.driver.lines.sync!.import(port, line.lane), NativeCallError, failing);
});

recordedTest(
  "semaphores of other code's: several are one call, a timeline has values, and the fd stays the caller's",
  (cuda) => {
    const { stream } = cuda.stream.line.lane;
    const fd = libc().eventfd(0, 0);
    const fds = openFds();
    {
      using ticks = cuda.importSemaphore(fd, { kind: "timeline" });
      using ready = cuda.importSemaphore(fd);
      assertEquals(told.splice(0), [
        ["cudaImportExternalSemaphore", cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd, 0],
        ["cudaImportExternalSemaphore", cudaExternalSemaphoreHandleTypeOpaqueFd, 0],
      ]);
      assertEquals([ticks.kind, ticks.context, openFds()], ["timeline", cuda, fds + 2]);
      ticks.wait(5n);
      ready.signal();
      cuda.stream.signalSemaphores([{ semaphore: ticks, value: 6n }, ready]);
      cuda.stream.waitSemaphores([ready, { semaphore: ticks, value: 2n ** 64n - 1n }]);
      assertEquals(told.splice(0), [
        ["cuWaitExternalSemaphoresAsync", HANDLE, 5n, 0, 1, stream],
        ["cuSignalExternalSemaphoresAsync", HANDLE + 1n, 1n, 0, 1, stream],
        ["cuSignalExternalSemaphoresAsync", HANDLE, 6n, 0, HANDLE + 1n, 1n, 0, 2, stream],
        ["cuWaitExternalSemaphoresAsync", HANDLE + 1n, 1n, 0, HANDLE, 2n ** 64n - 1n, 0, 2, stream],
      ]);
      for (const value of [6n, 5n]) assertThrows(() => ticks.signal(value), ArgumentError, "expected more than 6");
      for (const value of [undefined, -1n, 2n ** 64n, 7 as never]) {
        assertThrows(() => ticks.wait(value), ArgumentError, "a timeline needs a bigint");
      }
      assertThrows(() => cuda.importSemaphore(fd, { kind: "sync-fd" }), ArgumentError, "imports no sync-fd semaphores");
      failing = "cuSignalExternalSemaphoresAsync";
      assertThrows(() => ticks.signal(7n), NativeCallError, failing);
      failing = undefined;
      ticks.signal(7n); // the driver refused it: the value is free
    }
    failing = "cudaImportExternalSemaphore";
    assertThrows(() => cuda.importSemaphore(fd), NativeCallError, failing);
    assertOpenFds(fds);
    closeFd(fd);
  },
);

recordedTest("a timeline's signal stands behind its last one, and not behind waits", (cuda) => {
  using other = cuda.createStream();
  const fd = libc().eventfd(0, 0);
  using ticks = cuda.importSemaphore(fd, { kind: "timeline" });
  closeFd(fd);
  isBusy = true;
  const wait = cuda.stream.waitSemaphores([{ semaphore: ticks, value: 9n }]);
  const first = other.signalSemaphores([{ semaphore: ticks, value: 1n }]);
  assertEquals(other.line.isBehind(wait.line, wait.mark), false); // else the signal would wait for itself
  ticks.signal(2n);
  assertEquals(cuda.line.isBehind(first.line, first.mark), true);
  isBusy = false;
});

recordedTest("a shared event signals behind itself, on the thread's stream", (cuda) => {
  using event = cuda.exportEvent();
  const { line } = event.record();
  const sync = line.driver.lines.sync!;
  const semaphore = sync.import(new Port("binary-fd", { fd: someFd() }), line.lane);
  told.length = 0;
  line.submitRaw(sync.signal!([semaphore], [1n]));
  sync.release(semaphore);
  assertEquals(told.slice(0, 2), [
    ["cudaStreamWaitEvent", cudaStreamPerThread],
    ["cuSignalExternalSemaphoresAsync", HANDLE, 1n, 0, 1, cudaStreamPerThread],
  ]);
});

recordedTest("bytes for experiments are copied by CUDA's own command, and not counted", (cuda) => {
  using tensor = importAs(cuda, portTo(0, 4096), RECEIVED) as CudaTensor;
  const bytes = new Uint8Array(64);
  told.length = 0;
  cuda.ports.copies!.write(tensor, bytes);
  cuda.ports.copies!.read(tensor, bytes);
  assertEquals(told.map(([name, to, from]) => [name, to === ADDRESS, from === ADDRESS]), [
    ["cudaMemcpy", true, false],
    ["cudaMemcpy", false, true],
  ]);
  assertEquals(cuda.bytesCopied, 0);
});
