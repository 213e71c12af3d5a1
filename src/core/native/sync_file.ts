import { ENOTTY } from "../../../ffi/libc/errors.ts";
import { SYNC_IOC_FILE_INFO } from "../../../ffi/libc/constants.ts";
import { sync_file_info } from "../../../ffi/libc/structs.ts";
import type { Checks } from "../checks.ts";
import { closeFd, duplicateFd, whereOpen } from "./fd.ts";
import { libc, libcError, retried } from "./libc.ts";

const info = new DataView(new ArrayBuffer(sync_file_info.size));

/** Asks the kernel; false where it refuses. */
function isSyncFile(fd: number): boolean {
  info.setBigUint64(sync_file_info.fields.num_fences.offset, 0n, true); // else the kernel writes a list of so many
  return retried(() => libc().ioctl(fd, SYNC_IOC_FILE_INFO, info)) >= 0;
}

/** 0 while its fences are not signalled, 1 once they are, and below zero the code of one that failed. */
export function statusOfSyncFile(fd: number, api: string): number {
  if (!isSyncFile(fd)) throw libcError("ioctl", { [ENOTTY]: "It is the fd of something else now." }, api);
  return info.getInt32(sync_file_info.fields.status.offset, true);
}

/** A driver may believe any other fd, and never signal. @throws {ArgumentError} for anything but a sync file. */
export function syncFileIn(given: number, checks: Checks): number {
  const fd = whereOpen(checks, "fd", checks.fdIn(given, "fd"), duplicateFd);
  if (isSyncFile(fd)) return fd;
  closeFd(fd);
  throw checks.wrong(
    "fd",
    "expected a sync file.",
    "A driver makes one of a fence: eglDupNativeFenceFDANDROID, vkGetSemaphoreFdKHR.",
  );
}
