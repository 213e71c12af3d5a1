import { O_RDWR } from "../../ffi/va/constants.ts";
import { O_CLOEXEC } from "../../ffi/libc/constants.ts";
import { EACCES, ENODEV, ENOENT, ENXIO, EPERM } from "../../ffi/libc/errors.ts";
import { closeFd } from "../core/native/fd.ts";
import { libc, libcError } from "../core/native/libc.ts";
import { cString } from "../core/native/text.ts";

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

/** The kernel numbers render nodes from here on, one for each GPU. */
const FIRST = 128;
const MOST = 64;

/** The path of a render node. */
function pathOf(i: number): string {
  return `/dev/dri/renderD${FIRST + i}`;
}

/** Opens a node; the caller owns the fd. Of one that is not for this user, the answer says why, and what to do. */
export function openNode(node: string): number | VaapiNode {
  const fd = libc().open(cString(node), O_RDWR | O_CLOEXEC, 0);
  if (fd >= 0) return fd;
  const error = libcError("open", `It was to open ${node}.`);
  const { code, codeName } = error;
  if (code === ENOENT || code === ENXIO || code === ENODEV) {
    const remedy = "It needs a GPU and its kernel driver (ls /dev/dri). In a container, pass the node in.";
    return { node, open: false, reason: `there is no ${node}.`, remedy };
  }
  if (code !== EACCES && code !== EPERM) throw error;
  const remedy =
    `Add yourself to the group that owns it (ls -l ${node}; render on Debian): sudo usermod -aG render $USER, then log in ` +
    "again. In a container, pass the node in, and its group (--group-add).";
  return { node, open: false, reason: `${node} cannot be opened by this user (${codeName}).`, remedy };
}

function lookAt(node: string): VaapiNode {
  const opened = openNode(node);
  if (typeof opened !== "number") return opened;
  closeFd(opened);
  return { node, open: true };
}

/**
 * The render nodes of this machine, whether this process may open them or not; if there is none, the first that could be.
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
