import { type DeviceFile, lookAtDeviceFile } from "../core/native/device_file.ts";

/** A render node of this machine, for which VA-API may have a driver. */
export interface VaapiNode {
  /** The device file: `"/dev/dri/renderD128"`. */
  readonly node: string;
  /** True if this process can open it. */
  readonly open: boolean;
  /** Why this process cannot open it. */
  readonly reason?: string;
  /** What to do so that it opens. */
  readonly remedy?: string;
}

/** The number of the first render node. The kernel makes one for each GPU. */
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
 * The render nodes of this machine, including those that this process cannot open. Without any, the list holds the
 * first possible node, with the reason.
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
