import { NULL } from "../../ffi/address.ts";
import { CL_MEM_READ_WRITE } from "../../ffi/opencl/constants.ts";
import type { ClMem } from "../../ffi/opencl/handles.ts";
import { CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR } from "../../ffi/opencl_external/constants.ts";
import type { ExternalMemory } from "../../ffi/opencl_external/functions.ts";
import { SYMBOLS } from "../../ffi/opencl_external/symbols.ts";
import type { Call } from "../core/device/driver.ts";
import type { Fence } from "../core/device/fence.ts";
import { throwAll } from "../core/errors.ts";
import { ledger } from "../core/life/ledger.ts";
import type { GiveBack } from "../core/life/resource.ts";
import { type Undo, unwind } from "../core/life/undo.ts";
import type { Allocation } from "../core/memory/allocation.ts";
import { closeFd } from "../core/native/fd.ts";
import type { ByteRange } from "../core/tensors/described.ts";
import type { BaseContext } from "./base_context.ts";
import { own } from "./buffers/native.ts";
import type { RootBuffer } from "./buffers/tensor.ts";
import type { OpenCLDevice } from "./device.ts";
import { errcode, made } from "./errors.ts";
import { extensionFunctions } from "./extension.ts";
import type { ClLane } from "./lane.ts";
import { newer } from "./library.ts";

/** The extension for memory of another API. */
const EXTERNAL_MEMORY = "cl_khr_external_memory";

/** The extension for such memory by an opaque POSIX fd. */
const OPAQUE_FD = "cl_khr_external_memory_opaque_fd";

/**
 * The functions of cl_khr_external_memory in a device's driver, looked up once.
 *
 * @throws {InteropError} if the driver lists the extension and lacks one of its functions.
 */
const externalMemoryOf: (device: OpenCLDevice) => ExternalMemory = extensionFunctions<ExternalMemory>(
  "opencl_external",
  EXTERNAL_MEMORY,
  SYMBOLS,
);

const FN = "clCreateBufferWithProperties";

/** The ledger's kind of an fd that a driver holds, until the buffer over its memory is released. */
const HELD = "opencl.external_fd";

/** The key of an allocation's attachment. */
const EXPECTED = {};

/** A buffer that OpenCL has acquired. */
export interface Acquired {
  /** Reached once it has. */
  readonly fence: Fence;
  /** The commands that return it to the other API after its work. */
  readonly giveBack: GiveBack;
}

/** Memory of other APIs as buffers of one context, by POSIX fds (cl_khr_external_memory_opaque_fd): `cl.external`. */
export class OpenCLExternalMemory {
  readonly #context: BaseContext;

  /** Made by the context. */
  constructor(context: BaseContext) {
    this.#context = context;
  }

  /** Why the context cannot take such memory; undefined if it can. For those who write mappers. */
  get problem(): string | undefined {
    const { devices, name } = this.#context;
    if (devices.length > 1) return `${name} are several devices, of which not all can have the memory.`;
    const [{ extensions, platform }] = devices;
    const lacks = [EXTERNAL_MEMORY, OPAQUE_FD].find((extension) => !extensions.includes(extension));
    return lacks === undefined ? undefined : `${platform} has no ${lacks} on ${name}.`;
  }

  /** Notes that an allocation of another API comes here by its fd. For those who write mappers. */
  expect(allocation: Allocation): void {
    allocation.attachment(EXPECTED, () => true);
  }

  /** True for a range of another API's memory that comes here by its fd. For those who write mappers. */
  has({ allocation, address }: ByteRange): boolean {
    return address === undefined && allocation.findAttachment(EXPECTED) === true;
  }

  /**
   * A buffer over the memory of an fd, which it takes over even if it fails. Its release goes on the undo list. For
   * those who write mappers.
   *
   * @throws {NativeCallError} if the driver refuses it.
   */
  buffer(fd: number, byteLength: number, undo: Undo): RootBuffer {
    const mem = bufferOverFd(this.#context, fd, byteLength, undo);
    return { mem, hostAddress: undefined, hostWriters: 0 };
  }

  /**
   * Acquires the buffer for OpenCL after the other API's work (clEnqueueAcquireExternalMemObjectsKHR). The result has the
   * command that returns it (clEnqueueReleaseExternalMemObjectsKHR). The undo list has it too, in case of a failure:
   * NVIDIA's driver (580.159) hangs when it releases a context that holds such a buffer. For those who write mappers.
   */
  acquire(root: RootBuffer, undo: Undo): Acquired {
    const { line } = this.#context.queue;
    const fence = line.submitRaw(this.#handing("clEnqueueAcquireExternalMemObjectsKHR", root));
    const handBack = this.#handing("clEnqueueReleaseExternalMemObjectsKHR", root);
    let isHeld = true;
    const release: Call<ClLane> = {
      ...handBack,
      call(lane) {
        const code = handBack.call(lane);
        if (code === 0) isHeld = false;
        return code;
      },
    };
    undo.push(() => {
      if (isHeld) line.submitRaw(release).waitSync();
    });
    // Not behind unfinished work: the same driver blocks until that work is done.
    return { fence, giveBack: { line, afterWork: true, step: (step) => step === 0 ? release : undefined } };
  }

  #handing(
    fn: "clEnqueueAcquireExternalMemObjectsKHR" | "clEnqueueReleaseExternalMemObjectsKHR",
    { mem }: RootBuffer,
  ): Call<ClLane> {
    const functions = externalMemoryOf(this.#context.device);
    const objects = new BigUint64Array([mem]);
    return {
      fn,
      call: ({ queue, waitCount, waitList, slot }) => functions[fn](queue, 1, objects, waitCount, waitList, slot),
    };
  }
}

/**
 * A buffer over the memory of another API's fd. It takes the fd over: a failed call closes it here, else the driver closes
 * it with the buffer. Until then the number must not be closed (facts: the driver would close it again, when it may belong
 * to another file).
 *
 * @throws {NativeCallError} if the driver refuses it; the code may be one of another API.
 */
function bufferOverFd(context: BaseContext, fd: number, byteLength: number, undo: Undo): ClMem {
  const properties = new BigUint64Array([BigInt(CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR), BigInt(fd), 0n]);
  let mem: ClMem;
  try {
    const create = newer(FN);
    mem = made(create(context.rawHandle, properties, CL_MEM_READ_WRITE, BigInt(byteLength), NULL, errcode), FN);
  } catch (error) {
    throwAll([error, ...unwind([() => closeFd(fd)])], "making a buffer over an fd");
    throw error;
  }
  ledger.add(HELD);
  undo.push(() => ledger.remove(HELD));
  return own(mem, undo);
}
