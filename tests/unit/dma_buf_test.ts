// What the kernel is asked of a dma-buf, by the arguments of its ioctls: no dma-buf is needed.

import { assertEquals } from "@std/assert";
import {
  DMA_BUF_IOCTL_EXPORT_SYNC_FILE,
  DMA_BUF_IOCTL_IMPORT_SYNC_FILE,
  DMA_BUF_SYNC_END,
  DMA_BUF_SYNC_READ,
  DMA_BUF_SYNC_WRITE,
  POLLIN,
  POLLOUT,
} from "../../ffi/dmabuf/constants.ts";
import { readPollfd } from "../../ffi/dmabuf/structs.ts";
import { DMA_BUF_IOCTL_SYNC, MFD_CLOEXEC } from "../../ffi/libc/constants.ts";
import { libc } from "../../src/core/native/libc.ts";
import { setTap } from "../../src/core/native/library.ts";
import { cString } from "../../src/core/native/text.ts";
import { DmaBuf } from "../../src/dmabuf/buffer.ts";

/** What the kernel was asked: by `poll`, the events; by each ioctl, its request and the flags. */
const asked: (readonly [what: "poll" | bigint, flags: number])[] = [];

setTap((api, functions) => {
  if (api !== "dmabuf") return functions;
  return {
    ...functions,
    ioctl(_fd: number, request: bigint, arg: DataView<ArrayBuffer>) {
      asked.push([request, arg.getUint32(0, true)]); // each of these structs begins with its flags
      return 0;
    },
    poll(fds: DataView<ArrayBuffer>) {
      asked.push(["poll", readPollfd(fds, 0).events]);
      return 0; // nothing is ready
    },
  };
});

const [READ, WRITE, END] = [DMA_BUF_SYNC_READ, DMA_BUF_SYNC_WRITE, DMA_BUF_SYNC_END].map(Number);
const ACCESSES = [["read", READ, POLLIN], ["write", WRITE, POLLOUT], ["read-write", READ | WRITE, POLLOUT]] as const;

/** Any file will do: the kernel of this test believes that it is one. */
function buffer(): DmaBuf & Disposable {
  const made = new DmaBuf(libc().memfd_create(cString("no dma-buf"), MFD_CLOEXEC), true);
  return Object.assign(made, { [Symbol.dispose]: () => made.free() });
}

Deno.test("DmaBuf.begin() and end() say the access of the map, and which of the two it is", () => {
  using made = buffer();
  for (const [access, flags] of ACCESSES) {
    asked.length = 0;
    made.begin(access);
    made.end(access);
    assertEquals(asked, [[DMA_BUF_IOCTL_SYNC, flags], [DMA_BUF_IOCTL_SYNC, flags | END]], access);
  }
});

Deno.test("DmaBuf.exportSyncFile() asks for what an access waits for, importSyncFile() adds work of an access", () => {
  using made = buffer();
  for (const [access, flags, events] of ACCESSES) {
    asked.length = 0;
    made.exportSyncFile(access);
    made.importSyncFile(7, access);
    assertEquals(asked, [
      ["poll", events],
      [DMA_BUF_IOCTL_EXPORT_SYNC_FILE, flags],
      [DMA_BUF_IOCTL_IMPORT_SYNC_FILE, flags],
    ], access);
  }
});
