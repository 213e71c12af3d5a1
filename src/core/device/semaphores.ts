import { type DeviceId, isSameDevice } from "./device_id.ts";
import type { Port, SyncKind } from "./port.ts";

/** A native semaphore, with the fds by which other drivers import it. */
export interface NativeSemaphore {
  /** A new fd of it, as a port. */
  export(): Port<SyncKind>;
  /** Destroys the maker's own object; imports of it stay good. */
  release(): void;
}

/** Makes native semaphores for drivers that cannot make any that others import: an open Vulkan device is one. */
export interface SemaphoreMaker {
  /** Its name, for messages. */
  readonly name: string;
  /** Its device. */
  readonly device: DeviceId;
  /** The kinds it makes: `"binary-fd"`, `"timeline-fd"`. */
  readonly kinds: readonly SyncKind[];
  /** Makes one, unsignalled or with the value 0. */
  make(kind: SyncKind): NativeSemaphore;
}

const makers: SemaphoreMaker[] = [];

/** Until the returned function is called, two lines of other drivers may wait for each other by these semaphores. */
export function offerSemaphores(maker: SemaphoreMaker): () => void {
  makers.push(maker);
  return () => void makers.splice(makers.indexOf(maker), 1);
}

/** A maker on one of these devices, and the first kind of its that will do. */
export function makerFor(
  devices: readonly DeviceId[],
  fits: (kind: SyncKind) => boolean,
): { readonly maker: SemaphoreMaker; readonly kind: SyncKind } | undefined {
  for (const maker of makers) {
    if (!devices.some((device) => isSameDevice(device, maker.device))) continue;
    const kind = maker.kinds.find(fits);
    if (kind !== undefined) return { maker, kind };
  }
  return undefined;
}
