import type { Fence } from "./fence.ts";

/**
 * What the device is to wait for before a command: of `after`, and of what `gather` finds. For each of the rest the host
 * waits, here; that may run code of the program's, which submits or ends work, so what there is to wait for is looked at
 * again.
 *
 * @param isDevices can the device wait for it?
 * @param gather adds to `waits`, and throws where the command may not be: a fence's own code may have run
 */
export function waitsOnDevice(
  after: readonly Fence[],
  isDevices: (fence: Fence) => boolean,
  gather?: (waits: Fence[]) => void,
): Fence[] {
  let waited: Set<Fence> | undefined; // few commands wait for others than the device's own
  while (true) {
    const waits = after.slice();
    gather?.(waits);
    const next = waits.find((fence) => !isDevices(fence) && !waited?.has(fence));
    if (next === undefined) return waited === undefined ? waits : waits.filter(isDevices);
    next.waitSync();
    (waited ??= new Set()).add(next);
  }
}
