import { type Address, NULL } from "../../../ffi/address.ts";
import { CL_MEM_READ_WRITE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import type { ClEgl } from "../../../ffi/opencl_egl/functions.ts";
import { SYMBOLS as EGL_SYMBOLS } from "../../../ffi/opencl_egl/symbols.ts";
import type { ExternalMemory } from "../../../ffi/opencl_external/functions.ts";
import { SYMBOLS } from "../../../ffi/opencl_external/symbols.ts";
import type { EglPort, GlPort } from "../../gl/port.ts";
import type { Call } from "../../core/contract.ts";
import { SharedImport } from "../../core/device/shared_import.ts";
import type { Layout } from "../../core/layout/layout.ts";
import { owned } from "../../core/life/ledger.ts";
import { allOrNothing, type Undo, undoAll } from "../../core/life/undo.ts";
import { closeFd } from "../../core/native/fd.ts";
import type { BaseContext } from "../base_context.ts";
import { type BufferPart, own, partOf } from "../buffers/native.ts";
import type { RootBuffer } from "../buffers/tensor.ts";
import type { OpenCL } from "../../../ffi/opencl/functions.ts";
import type { OpenCLDevice } from "../device.ts";
import type { NativeImage } from "../images/native.ts";
import { MARKER } from "../driver.ts";
import { errcode, made } from "../errors.ts";
import { extensionFunctions } from "../extension.ts";
import type { ClLane } from "../lane.ts";
import { newer, opencl } from "../library.ts";
import { EGL_IMAGE, EXTERNAL_MEMORY, memoryProperties } from "./handles.ts";

/** Looked up once. @throws {InteropError} if the driver lacks one of the functions. */
const externalMemoryOf: (device: OpenCLDevice) => ExternalMemory = extensionFunctions<ExternalMemory>(
  "opencl_external",
  EXTERNAL_MEMORY,
  SYMBOLS,
);

/** The ledger's kind of an fd that a driver holds, until the buffer over its memory is released. */
const HELD = "opencl.external_fd";

const eglImageOf: (device: OpenCLDevice) => ClEgl = extensionFunctions<ClEgl>("opencl_egl", EGL_IMAGE, EGL_SYMBOLS);

export type Enqueue = ExternalMemory["clEnqueueAcquireExternalMemObjectsKHR"];

export interface Handing {
  readonly functions: readonly [acquire: string, release: string];
  /** Each with its own native call: V8 makes a call that is now one, now another, slowly. */
  readonly of: (device: OpenCLDevice) => readonly [acquire: Enqueue, release: Enqueue];
  /** The object's calls run with this OpenGL context current. */
  readonly within?: GlPort["within"];
}

const EXTERNAL: Handing = {
  functions: ["clEnqueueAcquireExternalMemObjectsKHR", "clEnqueueReleaseExternalMemObjectsKHR"],
  of: (device) => {
    const native = externalMemoryOf(device);
    return [
      (...call) => native.clEnqueueAcquireExternalMemObjectsKHR(...call),
      (...call) => native.clEnqueueReleaseExternalMemObjectsKHR(...call),
    ];
  },
};

const EGL: Handing = {
  functions: ["clEnqueueAcquireEGLObjectsKHR", "clEnqueueReleaseEGLObjectsKHR"],
  of: (device) => {
    const native = eglImageOf(device);
    return [
      (...call) => native.clEnqueueAcquireEGLObjectsKHR(...call),
      (...call) => native.clEnqueueReleaseEGLObjectsKHR(...call),
    ];
  },
};

/** A `cl_mem` over another API's memory. */
export abstract class ExternalObject extends SharedImport<ClLane> {
  readonly root: RootBuffer;
  protected readonly context: BaseContext;
  protected readonly undo: Undo = [];
  readonly #objects: BigUint64Array<ArrayBuffer>;
  readonly #handing: Handing;
  #enqueue: readonly [acquire: Enqueue, release: Enqueue] | undefined;
  protected override readonly again = undefined;
  protected override readonly mark = MARKER;

  /** `make` takes the fd over, even if it fails. What it returns is released with this, and counted until then. */
  constructor(context: BaseContext, make: (undo: Undo) => ClMem, handing: Handing = EXTERNAL) {
    super();
    this.context = context;
    this.#handing = handing;
    const { within = (call) => call() } = handing;
    const doing = "making an object over another API's";
    const mem = allOrNothing(doing, (undo) =>
      within(() => {
        const release: Undo = [];
        undo.push(() => within(() => undoAll(release, "releasing an object over another API's")));
        return own(make(undo), release);
      }), this.undo);
    this.root = { mem, hostAddress: undefined, hostWriters: 0 };
    this.#objects = BigUint64Array.of(mem);
  }

  /** NVIDIA's driver (580.159) hangs when it releases a context that holds such a buffer: it is handed back first. */
  release(): void {
    const { line } = this.context.queue;
    if (this.isAcquired) this.undo.push(() => line.submitRaw(this.hand(false)).waitSync());
    undoAll(this.undo, "releasing imported memory");
  }

  protected override hand(acquires: boolean): Call<ClLane> {
    const index = acquires ? 0 : 1;
    const { functions, of } = this.#handing;
    const enqueue = (this.#enqueue ??= of(this.context.device))[index];
    return {
      fn: functions[index],
      blocks: true, // NVIDIA's driver (580.159) does, behind a user event that is not set
      // Behind a marker, which does the waiting: with unfinished events in its own list, that driver blocks too.
      call: (lane) => {
        const { queue, waitCount, waitList } = lane;
        const { clEnqueueMarkerWithWaitList } = opencl();
        const waits = waitCount === 0 ? 0 : clEnqueueMarkerWithWaitList(queue, waitCount, waitList, NULL);
        if (waits !== 0) return waits;
        const slot = acquires ? lane.leaveOut() : lane.slot; // an acquire is followed by what it is for
        const code = enqueue(queue, 1, this.#objects, 0, NULL, slot);
        if (code === 0) this.isAcquired = acquires;
        return code;
      },
    };
  }
}

export class ExternalBuffer extends ExternalObject {
  /** Its parts as sub-buffers, which last as long as it does. */
  readonly #parts = new Map<string, BufferPart>();

  /** Takes the fd over, even if it fails. @throws {NativeCallError} if the driver refuses it. */
  constructor(context: BaseContext, property: number, fd: number, byteLength: number) {
    super(
      context,
      (undo) =>
        overFd(
          "clCreateBufferWithProperties",
          context,
          property,
          fd,
          undo,
          (create, properties) =>
            create(context.rawHandle, properties, CL_MEM_READ_WRITE, BigInt(byteLength), NULL, errcode),
        ),
    );
  }

  /** The tensor's part of it: a sub-buffer if its alignment allows one. Each is made once. */
  part(at: Layout): BufferPart {
    const key = `${at.byteOffset} ${at.byteLength}`;
    let part = this.#parts.get(key);
    if (part === undefined) {
      this.#parts.set(key, part = partOf(this.context, this.root.mem, at.byteOffset, at, this.undo));
    }
    // Only the place of the elements is the part's: their shape may be another.
    return { ...part, layout: { ...at, byteOffset: part.layout.byteOffset } };
  }
}

export class ExternalImage extends ExternalObject {
  /** Takes the fd over, even if it fails. @throws {NativeCallError} if the driver refuses it. */
  constructor(context: BaseContext, property: number, fd: number, { pixels, desc }: NativeImage) {
    super(
      context,
      (undo) =>
        overFd(
          "clCreateImageWithProperties",
          context,
          property,
          fd,
          undo,
          (create, properties) => create(context.rawHandle, properties, CL_MEM_READ_WRITE, pixels, desc, NULL, errcode),
        ),
    );
  }
}

/** An image over an `EGLImage` (clCreateFromEGLImageKHR), of which the driver alone knows the order of the pixels. */
export class EglImage extends ExternalObject {
  /** @throws {NativeCallError} if the driver refuses it: another device's, or a format of its own. */
  constructor(context: BaseContext, { display, value }: EglPort) {
    const fn = "clCreateFromEGLImageKHR";
    super(context, () => {
      const create = eglImageOf(context.device)[fn];
      const [from, image] = [display as Address, value as Address];
      return made(create(context.rawHandle, from, image, CL_MEM_READ_WRITE, null, errcode), fn);
    }, EGL);
  }
}

type Creating = "clCreateBufferWithProperties" | "clCreateImageWithProperties";

/**
 * An object over the memory of another API's fd. It takes the fd over: a failed call closes it here, else the driver
 * closes it with the object. Until then the number must not be closed (facts: the driver would close it again, when it may
 * belong to another file).
 * @throws {NativeCallError} if the driver refuses it; the code may be one of another API.
 */
function overFd<Fn extends Creating>(
  fn: Fn,
  context: BaseContext,
  property: number,
  fd: number,
  undo: Undo,
  call: (create: NonNullable<OpenCL[Fn]>, properties: BigUint64Array<ArrayBuffer>) => ClMem,
): ClMem {
  const properties = memoryProperties(property, fd, context.device);
  const mem = allOrNothing("importing memory", () => made(call(newer(fn), properties), fn), [() => closeFd(fd)]);
  owned(HELD, undo, () => {});
  return mem;
}
