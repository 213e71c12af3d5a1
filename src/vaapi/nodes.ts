import { type DeviceFile, lookAtDeviceFile } from "../core/native/device_file.ts";

/** A render node of this machine's, on which VA-API may have a driver. */
export interface VaapiNode {
  /** The device file: `"/dev/dri/renderD128"`. */
  readonly node: string;
  /** May this process open it? */
  readonly open: boolean;
  /** Why not. */
  readonly reason?: string;
  /** What would open it. */
  readonly remedy?: string;
}

/** The kernel numbers them from here on, one for each GPU. */
const FIRST = 128;
const MOST = 64;

function pathOf(i: number): string {
  return `/dev/dri/renderD${FIRST + i}`;
}

export const RENDER_NODE: DeviceFile = {
  missing: "It needs a GPU and its kernel driver (ls /dev/dri). In a container, pass the node in.",
  group: "render",
};

function lookAt(node: string): VaapiNode {
  return { node, ...lookAtDeviceFile(node, RENDER_NODE) };
}

/**
 * The render nodes of this machine, whether this process may open them or not; if the machine has none, the first that
 * could be.
 *
 * @example
 * ```ts
 * import { vaapiNodes } from "@samepage/interop/vaapi";
 *
 * for (const { node, open, reason } of vaapiNodes()) console.log(node, open ? "open" : reason);
 * ```
 */
export function vaapiNodes(): VaapiNode[] {
  const found: VaapiNode[] = [];
  for (let i = 0; i < MOST; i++) {
    const one = lookAt(pathOf(i));
    if (!one.open && one.reason!.startsWith("there is no")) continue;
    found.push(one);
  }
  return found.length > 0 ? found : [lookAt(pathOf(0))];
}
