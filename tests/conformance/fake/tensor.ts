import type { FrameInfo } from "../../../src/core/layout/frame_info.ts";
import { Frame } from "../../../src/core/tensors/frame.ts";
import type { Fence } from "../../../src/core/life/fence.ts";
import type { Layout } from "../../../src/core/layout/layout.ts";
import type { Mapped } from "../../../src/core/tensors/mapped.ts";
import type { Metadata } from "../../../src/core/tensors/metadata.ts";
import { Resource } from "../../../src/core/life/resource.ts";
import { type Part, Tensor } from "../../../src/core/tensors/tensor.ts";
import type { FakeTarget } from "./context.ts";
import { fakeAddress, fakeBytes } from "./driver.ts";
import type { FakeFence } from "./fence.ts";

/** Memory of the fake. Its handle is the driver's. */
export class FakeTensor extends Tensor<bigint> {
  declare readonly target: FakeTarget;

  /** The host address of its first element. */
  get address(): bigint {
    return fakeAddress(this.rawHandle) + BigInt(this.layout.byteOffset);
  }

  /** Has the device write all of its bytes. */
  write(bytes: Uint8Array, after: readonly Fence[] = []): FakeFence {
    this.assertUsable("write");
    return this.#submit((own) => own.set(bytes), after);
  }

  /** Has the device read its bytes into `into`. */
  read(into: Uint8Array, after: readonly Fence[] = []): FakeFence {
    this.assertUsable("read");
    return this.#submit((own) => into.set(own), after);
  }

  #submit(work: (bytes: Uint8Array) => void, after: readonly Fence[]): FakeFence {
    const { byteOffset, byteLength } = this.layout;
    const bytes = fakeBytes(this.rawHandle).subarray(byteOffset, byteOffset + byteLength);
    const fence = this.target.context.submit(() => work(bytes), [this.rawHandle], after);
    this.resource.record(fence);
    return fence.retain();
  }

  protected derive(part: Part): FakeTensor {
    const resource = new Resource({ name: part.name, grants: [part.grant], owners: [this.resource] });
    const { target, rawHandle: handle } = this;
    return new FakeTensor({ target, handle, layout: part.layout, resource, parent: this });
  }
}

/** Where one plane lies. */
export interface PlaneAt {
  readonly handle: bigint;
  readonly layout: Layout;
}

/** A frame of planes whose bytes one resource holds, one grant after the other in the order of the planes' memories. */
export function fakeFrame(
  target: FakeTarget,
  resource: Resource,
  info: FrameInfo,
  planes: readonly PlaneAt[],
  about: { readonly metadata?: Metadata; readonly parent?: Mapped } = {},
): Frame<FakeTensor> {
  const handles = [...new Set(planes.map((plane) => plane.handle))];
  return new Frame<FakeTensor>({
    target,
    resource,
    info,
    ...about,
    planes: (frame) =>
      planes.map(({ handle, layout }, i) => {
        const name = `plane ${i} of ${resource.name}`;
        const grant = resource.grants[handles.indexOf(handle)];
        const start = grant.start + layout.byteOffset;
        const part = new Resource({
          name,
          grants: [grant.facet(start, start + layout.byteLength, name)],
          owners: [resource],
        });
        return new FakeTensor({ target, handle, layout, resource: part, parent: frame });
      }),
  });
}
