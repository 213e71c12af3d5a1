import { NULL } from "../../../ffi/address.ts";
import { PointerParameter } from "../../core/device/pointer.ts";
import type { CudaContext } from "../context.ts";
import { assertReachable } from "../reach.ts";
import { CudaTensor } from "../tensor.ts";

/** A pointer: its argument is a tensor, whose first element it points to, or null. */
export class DeviceParameter extends PointerParameter<CudaTensor, CudaContext> {
  protected override readonly mapping = "graph.map(tensor, cuda)";

  /** @see {@link PointerParameter} */
  override pack(value: unknown, view: DataView<ArrayBuffer>, at: number, context: CudaContext): CudaTensor | undefined {
    if (value !== null) return super.pack(value, view, at, context);
    view.setBigUint64(at, NULL, true);
  }

  /** @see {@link PointerParameter} */
  protected override tensorIn(value: unknown): CudaTensor | undefined {
    return value instanceof CudaTensor && CudaTensor.owns(value) ? value : undefined;
  }

  /** @see {@link PointerParameter} */
  protected override checkPlace(tensor: CudaTensor, _value: unknown, context: CudaContext): void {
    assertReachable(tensor, context, this.argument);
  }

  /** @see {@link PointerParameter} */
  protected override addressOf(tensor: CudaTensor): bigint {
    return tensor.address;
  }
}
