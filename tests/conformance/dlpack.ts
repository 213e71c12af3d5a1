import { MapperGraph } from "../../mod.ts";
import type { Address } from "../../ffi/address.ts";
import * as dl from "../../ffi/dlpack/constants.ts";
import { DLManagedTensorVersioned, writeDLManagedTensorVersioned } from "../../ffi/dlpack/structs.ts";
import { InteropError, messageOf } from "../../src/core/errors.ts";
import { sizeOf } from "../../src/core/layout/dtype.ts";
import { layout, type LayoutInit } from "../../src/core/layout/layout.ts";
import { viewAt } from "../../src/core/native/pin.ts";
import { fromDLPack } from "../../src/dlpack/mod.ts";
import { DATA_TYPES } from "../../src/dlpack/types.ts";
import { host, type HostTensor } from "../../src/host/mod.ts";
import { OpenCLContext, type OpenCLDevice } from "../../src/opencl/mod.ts";
import { separateFrame } from "./bytes.ts";
import { SIZE } from "./case.ts";
import { hostEnd } from "./host_end.ts";
import { buffersOf, devicesByName, objectsIn, OpenCLEnd } from "./opencl_end.ts";
import type { Candidate, End, Foreign, Subject } from "./subject.ts";

const libc = Deno.dlopen("libc.so.6", {
  calloc: { parameters: ["usize", "usize"], result: "u64" },
  free: { parameters: ["u64"], result: "void" },
  freeAddress: { name: "free", type: "pointer" },
}).symbols;

/** The elements of what a producer lends lie so far behind its struct. */
const ELEMENTS = 1024;

/** A tensor over one block of the C library's, which holds the struct and the elements, and whose deleter is `free`. */
function lent(init: LayoutInit): HostTensor {
  const { dtype, shape, strides, byteOffset, byteLength } = layout(init);
  const address = libc.calloc(1n, BigInt(ELEMENTS + byteOffset + byteLength)) as Address;
  const view = viewAt(address, ELEMENTS, "test");
  const lists = DLManagedTensorVersioned.size;
  writeDLManagedTensorVersioned(view, 0, {
    ...{ major: dl.DLPACK_MAJOR_VERSION, minor: 0, flags: 0n, manager_ctx: 0n as Address },
    deleter: BigInt(Deno.UnsafePointer.value(libc.freeAddress)) as Address,
    ...{ data: address + BigInt(ELEMENTS) as Address, byte_offset: BigInt(byteOffset) },
    ...{ device_type: dl.kDLCPU, device_id: 0, ndim: shape.length, lanes: 1, ...DATA_TYPES[dtype] },
    ...{ shape: address + BigInt(lists) as Address, strides: address + BigInt(lists + 8 * shape.length) as Address },
  });
  shape.forEach((count, i) => view.setBigInt64(lists + 8 * i, BigInt(count), true));
  strides.forEach((stride, i) => {
    view.setBigInt64(lists + 8 * (shape.length + i), BigInt(stride / sizeOf(dtype)), true);
  });
  return fromDLPack(address, { contexts: [host] }) as HostTensor;
}

/** Memory that stands for a producer's, attached as `fromDLPack` does that. */
function foreign(): Foreign {
  const handle = libc.calloc(1n, BigInt(SIZE));
  const attach = (handle: bigint, options = {}) =>
    host.arrays.attach({ handle, byteOffset: 0, memory: "host" }, { shape: [SIZE], dtype: "u8" }, options);
  return {
    attach: (options) => attach(handle, options),
    misfit: (options) => attach(16n, options), // nothing is mapped there
    [Symbol.dispose]: () => libc.free(handle),
  };
}

/** The host's end of an edge, in memory that producers of DLPack have made. */
const lentEnd: End = { ...hostEnd, allocate: lent, allocateFrame: (info) => separateFrame(lent, info), foreign };

/** What producers of DLPack have made, mapped to OpenCL, on one device. */
export function dlpacks(): Candidate[] {
  const edge = "host→opencl";
  const about = { edge, device: "DLPack's memory", covered: true, openedElsewhere: true };
  try {
    const device = devicesByName().find(({ platform }) => platform === "Portable Computing Language");
    return [{ ...about, open: device === undefined ? "PoCL has no device" : () => opened(device) }];
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return [{ ...about, open: messageOf(error) }];
  }
}

function opened(device: OpenCLDevice): Subject {
  using made = new DisposableStack();
  const cl = made.use(OpenCLContext.open({ platform: device.platform, device: device.name }));
  const end = made.use(new OpenCLEnd(cl, buffersOf(cl)));
  const graph = made.use(new MapperGraph([host, cl]));
  const kept = made.move();
  return {
    ...{ graph, source: lentEnd, target: end, expected: "as proven" },
    ...{ silentAtAllocating: PROBES, silentAtAttaching: PROBES },
    alive: () => objectsIn(cl),
    quiet: () => end.quiet(),
    [Symbol.dispose]: () => kept.dispose(),
  };
}

/** Where the kernel does not say, its list of mappings is read. */
const PROBES = ["libc.madvise", "libc.process_vm_readv"];
