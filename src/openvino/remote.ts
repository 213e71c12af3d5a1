import { type Address, NULL } from "../../ffi/address.ts";
import type { Memory } from "../core/contract.ts";
import type { Reason } from "../core/errors.ts";
import type { Context } from "../core/graph/context.ts";
import { owned } from "../core/life/ledger.ts";
import type { Undo } from "../core/life/undo.ts";
import { cString } from "../core/native/text.ts";
import { gpuMemory } from "../inference/context.ts";
import type { Values } from "../inference/tensor.ts";
import { call, checks, numberOf, OUT, ov } from "./library.ts";
import type { Part } from "../core/tensors/tensor.ts";
import { OpenVINOTensor, ports } from "./memory.ts";
import { shapeFor, shapeOf, values } from "./values.ts";

/** What begins a text's property, and a handle's: OpenVINO's functions take them by turns. */
const [TYPE, OCL, OCL_CONTEXT] = ["CONTEXT_TYPE", "OCL", "OCL_CONTEXT"].map(cString);
const [SHARED, BUFFER, HANDLE] = ["SHARED_MEM_TYPE", "OCL_BUFFER", "MEM_HANDLE"].map(cString);
const PAIRS = 4n; // texts and handles, each counted

/** Throws unless models may run in the context of another API's. */
export function assertRemote(on: Context): void {
  if (on.api === "opencl") return;
  throw checks.wrong("on", `OpenVINO runs nothing on ${on.name} (${on.api}).`, "Pass an OpenCLContext of Intel's GPU.");
}

/** OpenVINO's remote context in a `cl_context`, until `undo` runs. */
export function remoteContext(core: Address, device: string, { natives }: Context, undo: Undo): Address {
  const context = natives!.handles().context as Address;
  call("ov_core_create_context", core, cString(device), PAIRS, OUT, TYPE, OCL, OCL_CONTEXT, context);
  const remote = OUT[0] as Address;
  owned("openvino.remote_context", undo, () => ov().ov_remote_context_free(remote));
  return remote;
}

/** OpenVINO's own tensors over `cl_mem`s. */
export function remoteValues(remote: Address): Values {
  return {
    ...values,
    over(mem, type, shape) {
      const fn = "ov_remote_context_create_tensor";
      call(fn, remote, type, shapeFor(shape), PAIRS, OUT, SHARED, BUFFER, HANDLE, mem);
      return OUT[0] as Address;
    },
    infoOf: (tensor) => ({
      address: NULL,
      type: numberOf("ov_tensor_get_element_type", tensor),
      shape: shapeOf(tensor),
    }),
  };
}

/** Buffers of the `cl_context` that a remote context is in, from their beginning on. */
export function remotePorts(on: Context): Memory<OpenVINOTensor, Address> {
  return {
    ...gpuMemory(ports, { kind: "cl_mem" }, on),
    refuse: ({ target }) => target.context === on ? undefined : OTHER,
    tensor: (init) => new RemoteTensor(init),
    import({ value, offset }) {
      assertWhole(offset, "source");
      return { handle: value as Address };
    },
  };
}

/** A buffer. */
class RemoteTensor extends OpenVINOTensor {
  protected override derive(part: Part): RemoteTensor {
    assertWhole(part.layout.byteOffset, "layout");
    return super.derive(part) as RemoteTensor;
  }
}

/** OpenVINO is given a cl_mem, and no offset. */
function assertWhole(offset: number, argument: string): void {
  if (offset === 0) return;
  throw checks.unfit(
    argument,
    `it begins at byte ${offset} of its cl_mem.`,
    "OpenVINO takes a buffer from its beginning.",
  );
}

const OTHER: Reason = { reason: "it is memory of another cl_context.", remedy: "Map it to the context below first." };
