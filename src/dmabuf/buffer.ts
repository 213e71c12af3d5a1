import { Printed } from "../core/printed.ts";
import { type Address, NULL } from "../../ffi/address.ts";
import {
  DMA_BUF_SYNC_END,
  DMA_BUF_SYNC_READ,
  DMA_BUF_SYNC_WRITE,
  POLLIN,
  POLLOUT,
} from "../../ffi/dmabuf/constants.ts";
import {
  dma_buf_export_sync_file,
  dma_buf_import_sync_file,
  writeDmaBufExportSyncFile,
  writeDmaBufImportSyncFile,
} from "../../ffi/dmabuf/structs.ts";
import { dma_buf_sync, writeDmaBufSync } from "../../ffi/libc/structs.ts";
import { AccessError, ArgumentError, messageOf, type Reason } from "../core/errors.ts";
import { allOrNothing, type Undo, undoAll, undone } from "../core/life/undo.ts";
import { type Access, covers, reads, writes } from "../core/memory/access.ts";
import { showAt } from "../core/memory/peers.ts";
import { accessOfFd, closeFd, exporterOf, whyHidden } from "../core/native/fd.ts";
import { mapForeign } from "../core/native/foreign_addresses.ts";
import { mapPages, mapReadOnlyPages, unmapPages } from "../core/native/blocks.ts";
import { describe } from "./descriptor.ts";
import { ioctl, isReady, structOf } from "./library.ts";

/** The arguments of the calls that begin and end an access, made once, because each map makes both calls. */
const BEGIN = { read: syncOf("read"), write: syncOf("write"), "read-write": syncOf("read-write") };
const END = { read: syncOf("read", true), write: syncOf("write", true), "read-write": syncOf("read-write", true) };

/** A dma-buf: an fd of it, and its mapping for the CPU. For backends. */
export class DmaBuf extends Printed {
  /** The inode: equal for all fds of one buffer. */
  readonly identity: bigint;
  /** The length in bytes that the kernel reports. */
  readonly byteLength: number;
  /** The access that its fd was opened for. */
  readonly access: Access;
  /** The DRM format modifier of the picture in it; 0 is linear. */
  modifier = 0n;
  /** Its own fd. */
  readonly fd: number;
  #address: Address | undefined;
  /** Undefined until it is queried. */
  #hidden: Reason | null | undefined;
  readonly #undo: Undo;

  /** Takes over the fd, and closes it if it is not a dma-buf. `isOne` is true for an fd that a driver has just made. */
  constructor(fd: number, isOne = false) {
    super();
    this.fd = fd;
    this.#undo = [() => closeFd(fd)];
    try {
      const { identity, byteLength } = describe(fd, isOne);
      this.identity = identity;
      this.byteLength = byteLength;
      this.access = accessOfFd(fd);
    } catch (error) {
      throw undone(error, this.#undo, "looking at an fd");
    }
  }

  /** Its size, inode and fd. */
  toString(): string {
    return `dma-buf of ${this.byteLength} bytes, inode ${this.identity}, fd ${this.fd}`;
  }

  /** Why the CPU cannot access its bytes: a mapping is not its memory, or was refused. */
  get hidden(): Reason | undefined {
    if (this.#hidden === undefined) this.#hidden = whyHidden(exporterOf(this.fd)) ?? null;
    return this.#hidden ?? undefined;
  }

  /** Its address, mapped on first use; undefined if the CPU cannot access its bytes. */
  get address(): Address | undefined {
    if (this.#address === undefined && this.hidden === undefined) this.#map();
    return this.#address;
  }

  #map(): void {
    const { byteLength, fd } = this;
    const undo: Undo = [];
    const map = () => writes(this.access) ? mapPages(NULL, byteLength, fd) : mapReadOnlyPages(byteLength, fd, true);
    try {
      const address = allOrNothing("mapping a dma-buf", () => mapForeign(byteLength, undo, map), undo);
      this.#undo.push(...undo, () => unmapPages(address, byteLength), showAt(address, byteLength, "a dma-buf"));
      this.#address = address;
    } catch (error) {
      if (error instanceof ArgumentError) throw error; // too many mappings, which is not the exporter's refusal
      this.#hidden = {
        reason: `its exporter (${exporterOf(fd) ?? "unknown"}) does not let the CPU map it: ${messageOf(error)}`,
        remedy: "Import it on the device that made it, or have that copy it to a buffer that the CPU can map.",
      };
    }
  }

  /** Checks an access. @throws {AccessError} if its fd does not allow that. */
  assertAllows(access: Access): void {
    if (covers(this.access, access)) return;
    throw new AccessError(`access: the fd is open for reading only, and cannot be used for "${access}".`, {
      api: "dmabuf",
      argument: "access",
      hint: 'Pass { access: "read" }, or ask its owner for an fd that is open for both.',
    });
  }

  /** Begins the CPU's access: waits for the buffer's fences, and brings its caches up to date. */
  begin(access: Access): void {
    ioctl(this.fd, "DMA_BUF_IOCTL_SYNC", BEGIN[access]);
  }

  /** Ends the CPU's access. */
  end(access: Access): void {
    ioctl(this.fd, "DMA_BUF_IOCTL_SYNC", END[access]);
  }

  /** A sync file of the work that an access waits for: of writers, or of all users. Undefined without such work. */
  exportSyncFile(access: Access): number | undefined {
    if (isReady(this.fd, writes(access) ? POLLOUT : POLLIN)) return undefined;
    const arg = structOf(dma_buf_export_sync_file);
    writeDmaBufExportSyncFile(arg, 0, { flags: Number(flagsOf(access)), fd: -1 });
    ioctl(this.fd, "DMA_BUF_IOCTL_EXPORT_SYNC_FILE", arg, "It needs Linux 6.0.");
    return arg.getInt32(dma_buf_export_sync_file.fields.fd.offset, true);
  }

  /** Makes the next users of the buffer wait for a sync file of an access to it. */
  importSyncFile(fd: number, access: Access): void {
    const arg = structOf(dma_buf_import_sync_file);
    writeDmaBufImportSyncFile(arg, 0, { flags: Number(flagsOf(access)), fd });
    ioctl(this.fd, "DMA_BUF_IOCTL_IMPORT_SYNC_FILE", arg, "It needs Linux 6.0.");
  }

  /** Unmaps it, and closes the fd. */
  free(): void {
    undoAll(this.#undo, "giving a dma-buf back");
  }
}

function syncOf(access: Access, ends = false): DataView<ArrayBuffer> {
  const sync = structOf(dma_buf_sync);
  writeDmaBufSync(sync, 0, { flags: flagsOf(access) | (ends ? DMA_BUF_SYNC_END : 0n) });
  return sync;
}

function flagsOf(access: Access): bigint {
  return (reads(access) ? DMA_BUF_SYNC_READ : 0n) | (writes(access) ? DMA_BUF_SYNC_WRITE : 0n);
}
