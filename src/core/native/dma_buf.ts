import { DMA_BUF_IOCTL_SYNC } from "../../../ffi/libc/constants.ts";
import { EINVAL } from "../../../ffi/libc/errors.ts";
import { dma_buf_sync } from "../../../ffi/libc/structs.ts";
import { libc, retried } from "./libc.ts";
import { textOf } from "./mappings.ts";

/** Is an fd a dma-buf? Drivers believe other files, too, and those may shrink under them. */
export function isDmaBuf(fd: number): boolean {
  const told = toldOf(fd);
  return told === "" ? answersAsDmaBuf(fd) : exporterIn(told) !== undefined;
}

/** Who made a dma-buf (`"udmabuf"`, `"system"`, `"i915"`), where /proc can be read. */
export function exporterOf(fd: number): string | undefined {
  return exporterIn(toldOf(fd));
}

function toldOf(fd: number): string {
  return textOf(`/proc/self/fdinfo/${fd}`);
}

function exporterIn(told: string): string | undefined {
  return /^exp_name:\s*(.*)$/m.exec(told)?.[1];
}

/** Where /proc cannot be read: a dma-buf refuses a sync of no direction, and most other files do not know the request. */
function answersAsDmaBuf(fd: number): boolean {
  const sync = new DataView(new ArrayBuffer(dma_buf_sync.size));
  return retried(() => libc().ioctl(fd, DMA_BUF_IOCTL_SYNC, sync)) === -EINVAL;
}
