import {
  DMA_BUF_IOCTL_EXPORT_SYNC_FILE,
  DMA_BUF_IOCTL_IMPORT_SYNC_FILE,
  DMA_HEAP_IOCTL_ALLOC,
  DRM_IOCTL_MODE_CREATE_DUMB,
  DRM_IOCTL_MODE_DESTROY_DUMB,
  DRM_IOCTL_PRIME_HANDLE_TO_FD,
  SYNC_IOC_MERGE,
  UDMABUF_CREATE,
} from "../../ffi/dmabuf/constants.ts";
import type { DmaBufKernel } from "../../ffi/dmabuf/functions.ts";
import { pollfd, readPollfd, writePollfd } from "../../ffi/dmabuf/structs.ts";
import { SYMBOLS } from "../../ffi/dmabuf/symbols.ts";
import { DMA_BUF_IOCTL_SYNC } from "../../ffi/libc/constants.ts";
import { Checks } from "../core/checks.ts";
import { type NativeCallError, throwAll } from "../core/errors.ts";
import { allOrNothing, type Undo, unwind } from "../core/life/undo.ts";
import { closeFd } from "../core/native/fd.ts";
import { errnoError, partOfLibc, retried } from "../core/native/libc.ts";

export const checks: Checks = new Checks("dmabuf");

const REQUESTS = {
  DMA_BUF_IOCTL_SYNC,
  DMA_BUF_IOCTL_EXPORT_SYNC_FILE,
  DMA_BUF_IOCTL_IMPORT_SYNC_FILE,
  DMA_HEAP_IOCTL_ALLOC,
  UDMABUF_CREATE,
  SYNC_IOC_MERGE,
  DRM_IOCTL_MODE_CREATE_DUMB,
  DRM_IOCTL_MODE_DESTROY_DUMB,
  DRM_IOCTL_PRIME_HANDLE_TO_FD,
};
type Request = keyof typeof REQUESTS;

export const kernel: () => DmaBufKernel = partOfLibc<DmaBufKernel>("dmabuf", SYMBOLS);

/** Makes an ioctl; returns its result. @throws {NativeCallError} */
export function ioctl(fd: number, request: Request, arg: DataView<ArrayBuffer>, hint?: string): number {
  const outcome = retried(() => kernel().ioctl(fd, REQUESTS[request], arg));
  if (outcome < 0) throw kernelError("ioctl", -outcome, hint, request);
  return outcome;
}

export function kernelError(fn: string, code: number, hint?: string, what?: string): NativeCallError {
  return errnoError("dmabuf", code, what === undefined ? fn : `${fn}(${what})`, hint, { fn });
}

export function structOf({ size }: { readonly size: number }): DataView<ArrayBuffer> {
  return new DataView(new ArrayBuffer(size));
}

const asked = structOf(pollfd);

/** True if an fd is ready for these events. Queries once, or blocks until it is. */
export function isReady(fd: number, events: number, wait: "ask" | "block" = "ask"): boolean {
  writePollfd(asked, 0, { fd, events, revents: 0 });
  const { poll } = kernel();
  const count = retried(() => poll(asked, 1n, wait === "ask" ? 0 : -1));
  if (count < 0) throw kernelError("poll", -count);
  return (readPollfd(asked, 0).revents & events) !== 0;
}

const MAKING = "making a dma-buf";

/** Makes an fd, then runs `undo`. If that fails, the fd is closed again. */
export function onlyFd(make: () => number, undo: Undo): number {
  const fd = allOrNothing(MAKING, make, undo);
  const failures = unwind(undo);
  if (failures.length > 0) throwAll([...failures, ...unwind([() => closeFd(fd)])], MAKING);
  return fd;
}
