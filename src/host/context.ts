import type { Address } from "../../ffi/address.ts";
import { type Fence, PromiseGate } from "../core/device/fence.ts";
import type { Arrays, Memory, MemoryTarget } from "../core/contract.ts";
import {
  type AlignmentReport,
  type AlignmentRule,
  checkAlignment,
  type Layout,
  LAYOUT_NAMES,
  layoutIn,
  type LayoutInit,
  powerOfTwo,
} from "../core/layout/layout.ts";
import { PermanentContext } from "../core/graph/context.ts";
import { type DType, type DTypeOf, sizeOf, type TypedArray } from "../core/layout/dtype.ts";
import { Checks } from "../core/checks.ts";
import type { Frame } from "../core/tensors/frame.ts";
import { type FrameInfo, frameInfo, frameInWords, planeLayouts } from "../core/layout/frame_info.ts";
import { type Names, NO_OPTIONS, object, optionsIn, shown } from "../core/argument.ts";
import { isArrayBuffer } from "../core/intrinsics.ts";
import { attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { assertMetadata, type Metadata } from "../core/tensors/metadata.ts";
import { tensorOver } from "../core/tensors/over.ts";
import { firstElement } from "../core/tensors/tensor.ts";
import { own } from "../core/memory/own.ts";
import { mapBlock, type MappedBlock, PAGE } from "../core/native/blocks.ts";
import { allocationOf, attachMemfd, exportMemfd, type FrameInMemfd, importMemfd, refuseAsMemfd } from "./memfd.ts";
import { HostTensor, ownedTensor } from "./tensor.ts";
import { addressIn, wrapBuffer, type WrapOptions, wrapPointer } from "./wrap.ts";
import { fenceOf } from "../core/device/foreign_work.ts";
import { NativeCallError } from "../core/errors.ts";

/** How a block of host memory is placed. */
export interface Placement {
  /**
   * The alignment of the address in bytes, a power of two; the page size (4096) by default, and at least. With `guard`, the
   * default is one element, and your value is not rounded up to a page.
   */
  readonly align?: number;
  /** True to put it in a memfd, so that other processes and APIs can map it: `tensor.exportFd()`. False by default. */
  readonly sharable?: boolean;
  /**
   * True to add an inaccessible page directly after the end, to find native code that writes too far: touching any byte of
   * that page crashes the process. False by default.
   *
   * The padding of the last row belongs to the tensor, and is not guarded. If you pass `align`, up to `align - 1` bytes after
   * the end (at most 4095) are not guarded either.
   */
  readonly guard?: boolean;
}

/** Options of {@link HostContext.allocate}. */
export interface HostAllocation<D extends DType> extends LayoutInit<D>, Placement {}

const NAMES: Names<HostAllocation<DType> & Layout> = { ...LAYOUT_NAMES, align: true, sharable: true, guard: true };

/** Options of {@link HostContext.allocateFrame}. */
export interface FrameAllocation extends Placement {
  /** Each row begins at a multiple of this many bytes; 1 by default. */
  readonly rowAlign?: number;
  /**
   * Each plane begins at a multiple of this many bytes, a power of two; 1 by default. With 512 the planes can be parts of one
   * buffer on any OpenCL device.
   */
  readonly planeAlign?: number;
  /** The frame's metadata. */
  readonly metadata?: Metadata;
}

const FRAME_OPTIONS: Names<FrameAllocation> = {
  rowAlign: true,
  planeAlign: true,
  metadata: true,
  align: true,
  sharable: true,
  guard: true,
};

/**
 * The CPU's memory. The context is its only target, and always open.
 *
 * @example
 * ```ts
 * import { host } from "@samepage/interop";
 *
 * using photo = host.allocate({ shape: [1080, 1920, 4], dtype: "u8" }); // page-aligned, zeroed
 * photo.view().fill(128);
 * ```
 */
export class HostContext extends PermanentContext<HostTensor> implements MemoryTarget<HostTensor> {
  /** Exports its memory and imports others' memory by address; memory in a memfd also by its fd. */
  readonly ports: Memory<HostTensor, Address> = {
    exports: [{ kind: "host-pointer" }, { kind: "memfd", refuse: refuseAsMemfd }],
    imports: [{ kind: "host-pointer" }, { kind: "host-view" }, { kind: "memfd" }],
    denseCopy: "host.allocate({ shape, dtype }).view().set(tensor.elements())",
    export: (tensor, _kind, byteLength) => ({ port: exportMemfd(tensor, byteLength) }),
    import: (port, access) => port.kind === "memfd" ? importMemfd(port, access) : { handle: port.value as Address },
    tensor: (init) => new HostTensor(init),
    addressOf: firstElement,
  };

  /** Its tensors by address, for DLPack. */
  readonly arrays: Arrays = {
    ordinal: 0,
    placeOf: (tensor) => ({ handle: (tensor as HostTensor).address, byteOffset: 0, memory: "host" }),
    attach: ({ handle, byteOffset, isHeld }, init, options) =>
      attaching(options, (access) => {
        const address = (byteOffset === 0 ? handle : handle + BigInt(byteOffset)) as Address;
        return wrapPointer(
          this,
          address,
          init,
          access === undefined ? {} : { access },
          isHeld ? "no page" : "both ends",
        );
      }),
  };

  /** Always open. */
  constructor() {
    super("host");
  }

  /**
   * Allocates zeroed, page-aligned memory. Its length is rounded up to a multiple of 64 bytes.
   *
   * Small blocks (up to 256 KiB) share mappings of 4 MiB. A block that is larger, sharable, guarded or aligned beyond a
   * page has its own mapping, and Linux allows a process 65,530 of those by default (vm.max_map_count). Half of them are left
   * for V8 and drivers: an allocation beyond that is refused.
   *
   * @throws {LayoutError} for a wrong shape, dtype, stride or alignment.
   * @throws {ArgumentError} for other options of a wrong type, and if there are too many mappings.
   * @throws {NativeCallError} if memory runs out.
   *
   * @example
   * ```ts
   * import { host } from "@samepage/interop";
   *
   * using rows = host.allocate({ shape: [480, 639, 3], dtype: "u8", rowAlign: 64, align: 65536 });
   * console.log(rows.handle % 65536n, rows.layout.strides); // 0n [ 1920, 3, 1 ]
   * ```
   */
  allocate<D extends DType>(init: HostAllocation<D>): HostTensor<D> {
    const made = layoutIn(init, NAMES);
    const block = mapped(endOf(made), sizeOf(made.dtype), init);
    const abilities = block.memfd === undefined ? {} : { duplicateFd: block.memfd.duplicate };
    return ownedTensor(this, allocationOf(block), startOf(block), made, "read-write", abilities);
  }

  /**
   * Allocates one block for all planes of a frame, one after the other.
   *
   * @throws like {@link allocate}.
   *
   * @example
   * ```ts
   * import { host, imageInfo } from "@samepage/interop";
   *
   * using frame = host.allocateFrame(imageInfo({ format: "NV12", width: 1920, height: 1080 }));
   * console.log(frame.planes[1].layout.shape); // [ 540, 960, 2 ]
   * ```
   */
  allocateFrame(info: FrameInfo, options: FrameAllocation = {}): Frame<HostTensor> {
    const checked = frameInfo(info);
    const { rowAlign, planeAlign, metadata, ...placement } = optionsIn(options, FRAME_OPTIONS);
    assertMetadata(metadata);
    const layouts = planeLayouts(checked, rowAlign, planeAlign);
    const last = layouts[layouts.length - 1];
    const block = mapped(endOf(last), Math.max(...layouts.map(({ dtype }) => sizeOf(dtype))), placement);
    const allocation = allocationOf(block);
    const end = block.start + last.byteOffset + last.byteLength;
    const resource = own({ name: `host frame ${frameInWords(checked)}`, allocation, start: block.start, end });
    const at = { handle: startOf(block), layouts, resource, info: checked, metadata };
    return tensorOver<HostTensor>(this, at) as Frame<HostTensor>;
  }

  /**
   * Takes over a JavaScript buffer without copying it, by `transfer()`: the given buffer is detached. A typed array's whole
   * buffer is taken, and the tensor covers the array's part. `tensor.release()` returns the buffer.
   *
   * Shared and resizable buffers, WebAssembly memories and samepage's own views are refused.
   *
   * @throws {ArgumentError} for a buffer that cannot be taken over.
   *
   * @example
   * ```ts
   * import { host } from "@samepage/interop";
   *
   * const samples = new Float32Array([1, 2, 3, 4]);
   * const tensor = host.wrap(samples);
   * console.log(samples.length, tensor.layout.dtype); // 0 f32
   * console.log(tensor.release().byteLength); // 16
   * ```
   */
  wrap<A extends TypedArray>(array: A): HostTensor<DTypeOf<A>>;
  /** Takes over a buffer with your own layout. */
  wrap<D extends DType>(buffer: ArrayBuffer | ArrayBufferView, init?: LayoutInit<D>): HostTensor<D>;
  /**
   * Wraps memory that you do not own. Every page is probed; if the memory is freed later, using it crashes the process. If
   * samepage knows the memory, the new tensor is a peer of the tensors over it.
   *
   * Unless you pass `{ access: "read" }`, the first and the last page have to be writable. Read-only pages between them are not
   * noticed, and neither is memory that the kernel does not report on: a write there crashes the process.
   *
   * @throws {ArgumentError} if a page cannot be read or written, the range overlaps known memory in part, or the address
   * belongs to a map and ends with it.
   */
  wrap<D extends DType>(pointer: bigint | Deno.PointerValue, init: LayoutInit<D>, options?: WrapOptions): HostTensor<D>;
  wrap(
    memory: ArrayBuffer | ArrayBufferView | bigint | Deno.PointerValue,
    init?: LayoutInit,
    options: WrapOptions = NO_OPTIONS,
  ): HostTensor {
    if (isArrayBuffer(memory) || ArrayBuffer.isView(memory)) {
      assertNoneOf(options);
      return wrapBuffer(this, memory, init);
    }
    if (typeof memory === "bigint") return wrapPointer(this, memory as Address, init, options);
    return wrapPointer(this, addressIn(memory), init, options);
  }

  /**
   * A tensor over a memfd of another process or library. You keep your fd, and may close it. `byteOffset` counts from the
   * beginning of the memfd. Tensors over one memfd are peers, whatever fd they came by, the first owner's included.
   *
   * The memfd has to be sealed against shrinking (`F_SEAL_SHRINK`). If the fd was opened for reading only, or the memfd is
   * sealed against writers, the tensor is for `"read"`, and a write to its view crashes the process.
   *
   * @throws {ArgumentError} for an fd that is not such a memfd, is too short, or must not be written.
   * @throws {LayoutError} for a wrong layout.
   * @throws {NativeCallError} EBADF if the fd is not open.
   *
   * @example
   * ```ts
   * import { host } from "@samepage/interop";
   *
   * using tensor = host.allocate({ shape: [480, 640, 4], dtype: "u8", sharable: true });
   * const fd = tensor.exportFd(); // for another process, which attaches it:
   * using same = host.attach(fd, { shape: [480, 640, 4], dtype: "u8" }, { access: "read" });
   * tensor.view()[5] = 9;
   * console.log(same.view()[5]); // 9
   * ```
   */
  attach<D extends DType>(fd: number, init: LayoutInit<D>, options?: AttachOptions): HostTensor<D>;
  /** A frame in a memfd. */
  attach(fd: number, frame: FrameInMemfd, options?: AttachOptions): Frame<HostTensor>;
  attach(fd: number, what: LayoutInit | FrameInMemfd, options: AttachOptions = {}): HostTensor | Frame<HostTensor> {
    return attachMemfd(this, fd, what, options);
  }

  /**
   * A fence for the program's own work: it is reached when the promise settles, and fails if the promise rejects. Work
   * submitted `after` it starts then; OpenCL waits for it on the device.
   *
   * The promise must settle without this fence. If it waits for the fence itself, or for work behind it, both hang, without an
   * error, because samepage cannot see what a promise waits for. Two such mistakes are `resolve(fence)` of the same promise,
   * and `queue.waitFor(host.signal(step()))` if the async function `step` awaits or returns a fence that `queue` makes after
   * that wait. Make the fences that `step` waits for before the wait, or return `{ fence }`.
   *
   * @throws {ArgumentError} for anything but a promise.
   *
   * @example
   * ```ts
   * import { host } from "@samepage/interop";
   *
   * const { promise, resolve } = Promise.withResolvers<void>();
   * const ready = host.signal(promise);
   * console.log(ready.reached()); // false
   * resolve();
   * await ready;
   * ```
   */
  signal(promise: PromiseLike<unknown>): Fence {
    if (typeof (promise as Partial<PromiseLike<unknown>> | null)?.then !== "function") {
      throw checks.wrongKind("promise", "a promise", promise);
    }
    return signal(promise);
  }

  /**
   * Checks a tensor against the alignment rule of a vendor (`VENDOR_RULES.intel`) or of a device (`cl.aliasRule()`).
   *
   * @example
   * ```ts
   * import { host, VENDOR_RULES } from "@samepage/interop";
   *
   * using tensor = host.allocate({ shape: [100], dtype: "u8" });
   * console.log(host.checkAlignment(tensor, VENDOR_RULES.intel).problems); // [ "the length 100 is not a multiple of 64." ]
   * ```
   */
  checkAlignment(tensor: HostTensor, rule: AlignmentRule): AlignmentReport {
    checks.assertInstance(tensor, HostTensor, "tensor");
    return checkAlignment(tensor.address, tensor.layout.byteLength, rule);
  }
}

const checks: Checks = new Checks("host");

/** @throws {ArgumentError} for options of memory that its owner keeps, given with an array. */
function assertNoneOf(options: WrapOptions): void {
  if (options === NO_OPTIONS) return;
  const [name] = Object.keys(object(options, "options"));
  if (name === undefined) return;
  throw checks.wrong(
    "options",
    `${shown(name)} is an option for memory at an address; an array is always read and written.`,
  );
}

/** Maps a block of at least `byteLength` bytes; the largest element has `element` bytes. */
function mapped(byteLength: number, element: number, placement: Placement): MappedBlock {
  const { sharable = false, guard = false } = placement;
  checks.assertBooleans({ sharable, guard });
  const { align = guard ? element : PAGE } = placement;
  return mapBlock({ byteLength, align: powerOfTwo(align, "align"), sharable, guard });
}

function startOf({ address, start }: MappedBlock): Address {
  return (address + BigInt(start)) as Address;
}

/** The end of a layout in bytes, including the padding of its last row, which images use. */
function endOf({ byteOffset, byteLength, shape, strides }: Layout): number {
  return byteOffset + Math.max(byteLength, shape.length === 0 ? 0 : shape[0] * strides[0]);
}

/** The CPU's memory. */
export const host: HostContext = new HostContext();

/** A fence for the host's own work. Devices whose API has user events wait for the promise without the host. */
function signal(promise: PromiseLike<unknown>): Fence {
  const gate = new PromiseGate(promise);
  return fenceOf({
    ...{ api: "host", name: "a signal of the host", fn: "signal" },
    error: (code, fn) => new NativeCallError(`${fn} failed with ${code}.`, { api: "host", fn, code }),
    begin: (events) => gate.whenOpen((failed) => failed && events.failed(1, gate.failure!.error)),
    isOver: () => true, // the core queries this only after the gate has settled
    block() {},
    wait: () => gate.opened,
    gate: () => gate.settled ? undefined : gate,
  });
}
