import type { Fence } from "../../core/device/fence.ts";
import type { Resource } from "../../core/life/resource.ts";
import { CudaArray } from "../arrays/array.ts";
import type { CudaTensor } from "../tensor.ts";

export type Planes = readonly (CudaTensor | CudaArray)[];

interface Loan {
  /** The first word of its struct: the address or the array of the first plane. */
  readonly key: bigint;
  readonly planes: Planes;
  readonly ends: readonly (() => void)[];
}

const STREAM = "an EGLStream";

/**
 * The frames in a stream. Nothing may write their planes until they are back. A plane's end ends the producer first, because
 * no frame can be taken out of a stream.
 */
export class Loans {
  /** Oldest first, because they mostly come back in this order. */
  readonly #loans: Loan[] = [];

  get size(): number {
    return this.#loans.length;
  }

  has(key: bigint): boolean {
    return this.#loans.some((loan) => loan.key === key);
  }

  add(key: bigint, planes: Planes, producer: Resource): void {
    const ends = planes.map((plane) => {
      producer.dependOn(plane.resource);
      if (plane instanceof CudaArray) return plane.lendTo(STREAM);
      const { grant } = plane;
      const lent = grant.lend("read", grant.start, grant.end, STREAM);
      return () => lent.finish();
    });
    this.#loans.push({ key, planes, ends });
  }

  /** Ends the loan of a frame that has come back. Its next user waits for the fence. */
  end(key: bigint, producer: Resource, fence: Fence): void {
    const place = this.#loans.findIndex((loan) => loan.key === key);
    if (place < 0) return;
    const [{ planes, ends }] = this.#loans.splice(place, 1);
    for (const end of ends) end();
    for (const { resource } of planes) {
      resource.work.add(fence);
      producer.partFrom(resource);
    }
  }

  endAll(): void {
    for (const { ends } of this.#loans.splice(0)) for (const end of ends) end();
  }
}
