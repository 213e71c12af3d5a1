/** Opening a device, over a recording: drivers that are too old, flags, options, streams of others, what may be aliased. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { CUDA_ERROR_UNKNOWN } from "../../ffi/cuda_driver/errors.ts";
import * as constants from "../../ffi/cuda_runtime/constants.ts";
import { cudaErrorInsufficientDriver } from "../../ffi/cuda_runtime/errors.ts";
import { ArgumentError, NativeCallError } from "../../src/core/errors.ts";
import { cudaMemoryClass } from "../../src/cuda/alias/classes.ts";
import { CudaContext, cudaDevices } from "../../src/cuda/mod.ts";
import { host } from "../../src/host/context.ts";
import type { Fakes } from "./kernels/recording.ts";
import { recordedTests } from "./recorded.ts";

/** What the recorded devices are. */
const attributes = new Map<number, number>();
/** What libcudart says of the driver. */
const driver = { code: 0, version: 13000 };
/** The primary context of each device is 0x1000 and its ordinal; this is the thread's. */
let current = 0n;
/** Whose the streams are that others have made. */
const STREAMS = new Map([[0x501n, 0x1000n], [0x502n, 0x1001n], [0x503n, 0x2000n]]);
/** What each context is of. */
const DEVICES = new Map([[0x1000n, 0], [0x1001n, 1], [0x2000n, 0]]);
/** Flags of the device's context. */
let flags = 0;
/** The state of that context, the flags that were set for it, and what the driver returns then. */
const primary: { active: boolean; told: number[]; code: number } = { active: true, told: [], code: 0 };

const FAKES: Fakes = {
  cudaDeviceGetAttribute: (value: Int32Array, attribute: number) => put(value, attributes.get(attribute) ?? 0),
  cudaGetDeviceCount: (count: Int32Array) => driver.code || put(count, 2),
  cudaRuntimeGetVersion: (value: Int32Array) => put(value, 13000),
  cudaDriverGetVersion: (value: Int32Array) => put(value, driver.version),
  cudaGetDeviceFlags: (value: Uint32Array) => put(value, flags),
  cuCtxGetCurrent: (out: bigint) => {
    new BigUint64Array(Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(out)!, 8))[0] = current;
    return 0;
  },
  cuCtxSetCurrent: (context: bigint) => {
    current = context;
    return 0;
  },
  cuDevicePrimaryCtxGetState: (_ordinal: number, value: Uint32Array, active: Int32Array) =>
    put(value, flags) + put(active, Number(primary.active)),
  cuDevicePrimaryCtxSetFlags_v2: (_ordinal: number, value: number) => {
    primary.told.push(value);
    return primary.code;
  },
  cuCtxGetDevice: (value: Int32Array) => put(value, DEVICES.get(current)!),
  cuStreamGetCtx_v2: (stream: bigint, context: BigUint64Array) => {
    context[0] = STREAMS.get(stream)!;
    return 0;
  },
} as Record<string, (...args: never[]) => number>;

function put(out: Int32Array | Uint32Array, value: number): 0 {
  out[0] = value;
  return 0;
}

const over = recordedTests(FAKES);

function recordedTest(name: string, run: () => void): void {
  over(name, () => {
    attributes.clear();
    Object.assign(driver, { code: 0, version: 13000 });
    Object.assign(primary, { active: true, told: [], code: 0 });
    [current, flags] = [0n, 0];
    run();
  });
}

recordedTest("a driver that is too old: both versions, and what to do", () => {
  Object.assign(driver, { code: cudaErrorInsufficientDriver, version: 11040 });
  for (const open of [() => CudaContext.open(), () => cudaDevices()]) {
    const error = assertThrows(
      open,
      NativeCallError,
      "cudaGetDeviceCount failed with cudaErrorInsufficientDriver (35)",
    );
    for (const part of ["CUDA 11.4", "libcudart is 13.0", "update the driver", "SAMEPAGE_LIB_CUDART"]) {
      assertStringIncludes(error.message, part);
    }
    assertEquals([error.api, error.fn, error.codeName], ["cuda", "cudaGetDeviceCount", "cudaErrorInsufficientDriver"]);
  }
});

recordedTest("the same code where there is no driver: it says that", () => {
  Object.assign(driver, { code: cudaErrorInsufficientDriver, version: 0 });
  const error = assertThrows(() => CudaContext.open(), NativeCallError, "No NVIDIA driver is loaded");
  assert(!error.message.includes("13.0"), error.message);
});

recordedTest("options that there are not are named, and nothing is opened", () => {
  const open = (options: unknown) => () => CudaContext.open(options as never);
  const error = assertThrows(open({ ordinl: 1, sched: "spin" }), ArgumentError, "unknown property ordinl, sched.");
  assertStringIncludes(error.hint!, "ordinal, uuid, name, schedule, mapHost, on");
  assertThrows(open({ schedule: "toString" }), ArgumentError, "schedule");
  assertThrows(open({ mapHost: "yes" }), ArgumentError, "mapHost");
});

recordedTest("open({ on }) takes the device of another context, and refuses where none is known to be that", () => {
  const [first, second] = cudaDevices();
  for (const device of [first, second]) {
    using one = CudaContext.open({ ordinal: device.ordinal });
    using same = CudaContext.open({ on: one });
    assertEquals(same.device.ordinal, device.ordinal);
  }
  const error = assertThrows(() => CudaContext.open({ on: host }), ArgumentError, "is known to be host (host)");
  assertStringIncludes(error.message, `reports UUID ${second.id.uuid}, PCI address ${second.id.pci}`);
  assertEquals([error.api, error.argument], ["cuda", "on"]);
  using one = CudaContext.open({ ordinal: 0 });
  assertThrows(() => CudaContext.open({ on: one, ordinal: 1 }), ArgumentError, `none fits {"ordinal":1}`);
});

recordedTest("memory of the host is mapped wherever that can be, and nowhere else", () => {
  assertThrows(() => CudaContext.open({ mapHost: true }), ArgumentError, "canMapHostMemory is 0");
  CudaContext.open({ mapHost: false })[Symbol.dispose]();
  attributes.set(constants.cudaDevAttrCanMapHostMemory, 1);
  CudaContext.open({ mapHost: true })[Symbol.dispose]();
  assertThrows(() => CudaContext.open({ mapHost: false }), ArgumentError, "maps host memory");
});

recordedTest("a context's flags have CUDA's names", () => {
  using cuda = CudaContext.open();
  assertEquals(cuda.flags, ["cudaDeviceScheduleAuto"]);
  flags = constants.cudaDeviceScheduleBlockingSync | constants.cudaDeviceMapHost | constants.cudaDeviceSyncMemops;
  assertEquals(cuda.flags, ["cudaDeviceScheduleBlockingSync", "cudaDeviceMapHost", "cudaDeviceSyncMemops"]);
});

recordedTest("how threads wait is settled before there is a context, and nothing is opened where that fails", () => {
  flags = constants.cudaDeviceScheduleSpin | constants.cudaDeviceLmemResizeToMax;
  CudaContext.open({ schedule: "spin" })[Symbol.dispose]();
  const late = assertThrows(
    () => CudaContext.open({ schedule: "blocking" }),
    ArgumentError,
    'exists already, with "spin"',
  );
  assertStringIncludes(late.hint!, "before anything else in the process uses the device");
  assertEquals(primary.told, []);
  primary.active = false;
  CudaContext.open({ schedule: "blocking" })[Symbol.dispose]();
  assertEquals(primary.told, [constants.cudaDeviceScheduleBlockingSync | constants.cudaDeviceLmemResizeToMax]);
  primary.code = CUDA_ERROR_UNKNOWN;
  const error = assertThrows(() => CudaContext.open({ schedule: "yield" }), NativeCallError);
  assertEquals([error.fn, error.codeName], ["cuDevicePrimaryCtxSetFlags", "CUDA_ERROR_UNKNOWN"]);
});

recordedTest("a stream of another device, or of another context, is not attached to", () => {
  using first = CudaContext.open({ ordinal: 0 });
  using second = CudaContext.open({ ordinal: 1 });
  for (const before of [0x1000n, 0x1001n]) {
    current = before;
    first.attachStream(0x501n)[Symbol.dispose]();
    second.attachStream(0x502n)[Symbol.dispose]();
    for (const own of [1n, 2n]) second.attachStream(own)[Symbol.dispose](); // of whichever device is current
    const other = "it is of device 1 (Recorder), and this is device 0 (Recorder).";
    const error = assertThrows(() => first.attachStream(0x502n), ArgumentError, other);
    assertEquals([error.argument, error.api], ["handle", "cuda"]);
    assertThrows(
      () => second.attachStream(0x501n),
      ArgumentError,
      "it is of device 0 (Recorder), and this is device 1",
    );
    assertThrows(() => first.attachStream(0x503n), ArgumentError, "another context than its primary one");
    assertEquals(current, before);
  }
});

recordedTest("pageable memory that the driver may move is not an alias; coherent memory is left to the proof", () => {
  const moves = "the driver may move pageable memory to its current user";
  attributes.set(constants.cudaDevAttrPageableMemoryAccess, 1);
  {
    using cuda = CudaContext.open(); // a discrete GPU under Linux's HMM
    const pageable = cudaMemoryClass("pageable", cuda.device);
    cuda.proofs.tryToProve(pageable); // runs no kernel: the recording has none of that name
    assertEquals(cuda.proofs.judge(pageable), { aliases: false, evidence: moves });
  }
  for (const name of ["cudaDevAttrPageableMemoryAccessUsesHostPageTables", "cudaDevAttrIntegrated"] as const) {
    attributes.set(constants[name], 1);
    using cuda = CudaContext.open();
    const verdict = cuda.proofs.judge(cudaMemoryClass("pageable", cuda.device));
    assertEquals(verdict, { aliases: false, evidence: "not proven" }, name);
    attributes.delete(constants[name]);
  }
});
