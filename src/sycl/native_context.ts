import { type Address, NULL } from "../../ffi/address.ts";
import { DPCTL_DEFAULT_PROPERTY } from "../../ffi/sycl/constants.ts";
import type { DPCTLSyclContextRef, DPCTLSyclDeviceRef, DPCTLSyclUSMRef } from "../../ffi/sycl/handles.ts";
import { SYCL_BACKEND_OPENCL, SYCL_CONTEXT_SIZE } from "../../ffi/sycl_native/constants.ts";
import { contextOn } from "../core/device/device_on.ts";
import type { Context } from "../core/graph/context.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import { UnifiedMemory } from "../core/tensors/unified.ts";
import { SharedContext } from "../core/tensors/unified_device.ts";
import type { PointerTensor } from "../core/tensors/pointer.ts";
import { checks, made, sycl, syclNative } from "./library.ts";

/** An OpenCL context, whose `cl_context` is SYCL's too. */
export interface SyclOn {
  /** Its unified shared memory, which is SYCL's as well. */
  readonly usm: UnifiedMemory<PointerTensor>;
  /** The `cl_context`. */
  readonly handle: bigint;
}

/** The OpenCL context in the option `on`. @throws {ArgumentError} for anything else. @throws {DisposedError} */
export function onIn(given: unknown): SyclOn {
  const context: Context & { readonly usm?: unknown } = contextOn(checks, given);
  const { api, name, natives, usm } = context;
  const handle = natives?.handles().context;
  if (api === "opencl" && usm instanceof UnifiedMemory && handle !== undefined) return { usm, handle };
  const hint = "Pass an OpenCL context, or leave { on } out and choose a device by its name.";
  throw checks.wrong("on", `${name} (${api}) has no cl_context.`, hint, "make_context");
}

/** An empty std::function and an empty std::vector of libstdc++. */
const EMPTY = new Uint8Array(32);

/** A `sycl::context`, which lives as long as the program's context or its memory. */
export type SyclNativeContext = SharedContext<DPCTLSyclContextRef>;

/** Creates a context of a device. `undo` releases it. */
export function createContext(device: DPCTLSyclDeviceRef, undo: Undo): SyclNativeContext {
  return heldBy(undo, [], () => {
    return made(sycl().DPCTLContext_Create(device, NULL, DPCTL_DEFAULT_PROPERTY), "DPCTLContext_Create");
  });
}

/** Creates a context over an OpenCL context, which is held, because SYCL takes no reference to a `cl_context`. */
export function contextOver({ usm, handle }: SyclOn, undo: Undo): SyclNativeContext {
  const { make_context, operator_new, operator_delete } = syclNative();
  return heldBy(undo, [usm.hold()], () =>
    allOrNothing("making a SYCL context", (memory) => {
      const place = operator_new(BigInt(SYCL_CONTEXT_SIZE));
      memory.push(() => operator_delete(place));
      make_context(place, handle, EMPTY, SYCL_BACKEND_OPENCL, 1, EMPTY);
      return place;
    }));
}

function heldBy(undo: Undo, beneath: Undo, make: () => DPCTLSyclContextRef): SyclNativeContext {
  const handle = allOrNothing("making a SYCL context", make, beneath);
  owned("sycl.context", beneath, () => sycl().DPCTLContext_Delete(handle));
  const free = (address: Address) => sycl().DPCTLfree_with_context(address as bigint as DPCTLSyclUSMRef, handle);
  const shared = new SharedContext(handle, beneath, free);
  undo.push(shared.hold());
  return shared;
}
