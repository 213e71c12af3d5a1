import { O_CLOEXEC, O_RDWR } from "../../../ffi/libc/constants.ts";
import { EACCES, ENODEV, ENOENT, ENXIO, EPERM } from "../../../ffi/libc/errors.ts";
import { messageOf, type Reason } from "../errors.ts";
import { closeFd } from "./fd.ts";
import { libc, libcError } from "./libc.ts";
import { cString } from "./text.ts";

export interface DeviceFile {
  readonly missing: string;
  readonly group: string;
}

/**
 * Opens a device file for reading and writing; the caller owns the fd. Where it is not there, or not for this user, the
 * result says why, and what to do.
 * @throws {NativeCallError} if something else is wrong, as where no more fds can be opened.
 */
export function openDeviceFile(path: string, { missing, group }: DeviceFile): number | Reason {
  const fd = libc().open(cString(path), O_RDWR | O_CLOEXEC, 0);
  if (fd >= 0) return fd;
  const error = libcError("open", `It was to open ${path}.`);
  const { code, codeName } = error;
  if (code === ENOENT || code === ENXIO || code === ENODEV) return { reason: `there is no ${path}.`, remedy: missing };
  if (code !== EACCES && code !== EPERM) throw error;
  const remedy =
    `Join the group that owns it (ls -l ${path}; ${group} on Debian): sudo usermod -aG ${group} $USER, then ` +
    "log in again. In a container, pass the node in, and its group (--group-add).";
  return { reason: `${path} cannot be opened by this user (${codeName}).`, remedy };
}

/** Whether this user may open a device file; where not, why, and what to do. Does not throw. */
export function lookAtDeviceFile(
  path: string,
  about: DeviceFile,
): { readonly open: boolean } & Partial<Reason> {
  try {
    const opened = openDeviceFile(path, about);
    if (typeof opened !== "number") return { open: false, ...opened };
    closeFd(opened);
    return { open: true };
  } catch (error) {
    return { open: false, reason: messageOf(error) };
  }
}
