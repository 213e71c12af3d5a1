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

/** What the ledger counts an fd as that a driver has, until the buffer over its memory dies. */
const HELD = "opencl.external_fd";

/**
 * A buffer over the memory that an fd of another API's is. The fd is taken over, whatever comes of it: where the call
 * fails it is closed here; where it succeeds the driver closes it when the buffer dies, and until then its number must
 * neither be closed nor used (facts: a number closed early is closed again when somebody else has it).
 *
 * @throws {NativeCallError} if the driver does not take it: its code may be one of another API's.
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
