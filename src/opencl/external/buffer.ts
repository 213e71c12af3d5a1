import { NULL } from "../../../ffi/address.ts";
import { CL_MEM_READ_WRITE } from "../../../ffi/opencl/constants.ts";
import type { ClMem } from "../../../ffi/opencl/handles.ts";
import { CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR } from "../../../ffi/opencl_external/constants.ts";
import { throwAll } from "../../core/errors.ts";
import { closeFd } from "../../core/native/fd.ts";
import { ledger } from "../../core/life/ledger.ts";
import { type Undo, unwind } from "../../core/life/undo.ts";
import type { OpenCLContext } from "../context.ts";
import { errcode, made } from "../errors.ts";
import { newer } from "../library.ts";
import { own } from "../tensor.ts";

const FN = "clCreateBufferWithProperties";

/** The ledger's kind of an fd that a driver holds, until the buffer over its memory is released. */
const HELD = "opencl.external_fd";

/**
 * A buffer over the memory of another API's fd. It takes the fd over: a failed call closes it here, else the driver closes
 * it with the buffer. Until then the number must not be closed (facts: the driver would close it again, when it may belong
 * to another file).
 *
 * @throws {NativeCallError} if the driver refuses it; the code may be one of another API.
 */
export function bufferOverFd(context: OpenCLContext, fd: number, byteLength: number, undo: Undo): ClMem {
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
