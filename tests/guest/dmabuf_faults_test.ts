/** Every native call and every ioctl of DMA-BUF fails once: what comes of it is typed, and nothing stays behind. */
import { assert, assertEquals } from "@std/assert";
import { host, imageInfo, MapperGraph } from "../../mod.ts";
import { closeFd } from "../../src/core/native/fd.ts";
import { dmabuf, DmaBufContext } from "../../src/dmabuf/mod.ts";
import { collect, Level, openFds } from "../gc.ts";
import { sweep } from "../faults/sweep.ts";
import { installTap } from "../faults/tap.ts";
import { exportSyncFile, Fd, VgemFence } from "./kernel.ts";
import { guestTest } from "./needs.ts";

installTap();

const BYTES = { shape: [4096], dtype: "u8" } as const;
const CARD = ["/dev/udmabuf", "/dev/dri/card0"];

/** A failed look at a node closes it, and one at /proc asks the kernel otherwise. */
const SILENT = ["libc.open", "libc.read", "libc.close"];

/** Without a page to poll with, and where a sync file does not say whether it is over, it is asked again. */
const ASKED_AGAIN = [...SILENT, "libc.mmap", "libc.ioctl(SYNC_IOC_FILE_INFO)"];

/** The calls that were made to fail, over all tests. */
const seen = new Set<string>();

function test(
  name: string,
  operation: () => unknown,
  silent: readonly string[] = SILENT,
  nodes?: readonly string[],
): void {
  guestTest(`faults: ${name}`, async () => {
    await operation();
    await collect(1); // a fence needs no dispose: its sync file goes with it
    const fds = new Level(openFds);
    const faults = await sweep(operation, () => fds.assertBack("open fds"), silent);
    assert(faults.length > 0, "it makes no native call");
    for (const { call } of faults) seen.add(call);
  }, nodes);
}

for (const from of ["/dev/udmabuf", "/dev/dma_heap/system", "/dev/dri/card0"]) {
  test(
    `dmabuf.allocate from ${from}`,
    () => {
      using _tensor = dmabuf.allocate({ ...BYTES, from });
    },
    SILENT,
    [from],
  );
}

test("dmabuf.attach to two buffers", () => {
  using one = dmabuf.allocate(BYTES);
  using other = dmabuf.allocate(BYTES);
  const fds = [one, other].map(({ handle }) => handle.fd);
  const info = imageInfo({ format: "NV12", width: 64, height: 32 });
  using _frame = dmabuf.attach(fds, { info, planes: [{}, { fd: 1 }] });
});

test("tensor.exportFd", () => {
  using tensor = dmabuf.allocate(BYTES);
  closeFd(tensor.exportFd());
});

test("a map to the host", () => {
  using graph = new MapperGraph([host, dmabuf]);
  using tensor = dmabuf.allocate(BYTES);
  using _mapped = graph.map(tensor, host);
}, [...SILENT, "libc.mmap"]); // a buffer that cannot be mapped is a closed edge, whose reason says so

test(
  "a map to another context, behind a fence",
  async () => {
    using elsewhere = new DmaBufContext();
    using graph = new MapperGraph([dmabuf, elsewhere]);
    using tensor = dmabuf.allocate(BYTES);
    using fd = new Fd(tensor.exportFd());
    using held = new VgemFence(fd, "write");
    using file = exportSyncFile(fd, "write");
    using mapped = graph.map(tensor, elsewhere);
    mapped.usedBy(dmabuf.fence(file.fd));
    held.signal();
    await mapped[Symbol.asyncDispose]();
  },
  ASKED_AGAIN,
  CARD,
);

test(
  "a fence that is given to a buffer",
  () => {
    using source = dmabuf.allocate(BYTES);
    using other = dmabuf.allocate(BYTES);
    using fd = new Fd(source.exportFd());
    using held = new VgemFence(fd, "write");
    using file = exportSyncFile(fd, "write");
    const fence = dmabuf.fence(file.fd);
    other.addFence(fence);
    held.signal();
    fence.reached(); // so that its sync file is closed, and no garbage
  },
  ASKED_AGAIN,
  CARD,
);

guestTest("faults: every request but that of a merge was made to fail", () => {
  const requests = [
    ...["DMA_BUF_IOCTL_SYNC", "DMA_BUF_IOCTL_EXPORT_SYNC_FILE", "DMA_BUF_IOCTL_IMPORT_SYNC_FILE", "SYNC_IOC_FILE_INFO"],
    ...["UDMABUF_CREATE", "DMA_HEAP_IOCTL_ALLOC", "DRM_IOCTL_MODE_CREATE_DUMB", "DRM_IOCTL_PRIME_HANDLE_TO_FD"],
    "DRM_IOCTL_MODE_DESTROY_DUMB",
  ];
  assertEquals(requests.filter((request) => ![...seen].some((call) => call.endsWith(`.ioctl(${request})`))), []);
}, ["/dev/dma_heap/system", ...CARD]);
