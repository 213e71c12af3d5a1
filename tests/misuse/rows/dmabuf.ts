import {
  AccessError,
  ArgumentError,
  DisposedError,
  host,
  imageInfo,
  LayoutError,
  MapperGraph,
  NoRouteError,
} from "@samepage/interop";
import { dmabuf, DmaBufContext, type DmaBufTensor, type FrameDescription } from "@samepage/interop/dmabuf";
import { any } from "../kit.ts";
import { type Failure, type Row, table } from "../row.ts";

const BYTES = { shape: [64], dtype: "u8" } as const;
const NV12 = imageInfo({ format: "NV12", width: 64, height: 32 });
const GRAY = { format: "GRAY8", width: 64, height: 32 } as const;
const X_TILED = 0x0100_0000_0000_0001n;

const libc = () =>
  Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32", "i32"], result: "i32" },
    pipe: { parameters: ["buffer"], result: "i32" },
    socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
  }).symbols;

function opened(path: string): number {
  return libc().open(new TextEncoder().encode(`${path}\0`), 0, 0);
}

function pipe(): number {
  const ends = new Int32Array(2);
  libc().pipe(ends);
  return ends[0];
}

function closed(): number {
  const fd = opened("/dev/null");
  libc().close(fd);
  return fd;
}

/** A row about an fd that is something else. */
function attachOf(fd: () => number, message: RegExp, hint: RegExp): Row {
  return {
    run: () => dmabuf.attach(fd(), BYTES),
    fails: { error: ArgumentError, api: "dmabuf", argument: "fd", message, hint },
  };
}

function memfd(): number {
  using tensor = host.allocate({ shape: [65_536], dtype: "u8", sharable: true });
  return tensor.exportFd();
}

/** A row about a description, which is refused before the fd is looked at as a dma-buf. */
function frameOf(description: unknown, fails: Failure): Row {
  return { run: () => dmabuf.attach([memfd()], any<FrameDescription>(description)), fails };
}

/** A row with a buffer of its own. */
function withBuffer(use: (tensor: DmaBufTensor) => unknown, fails?: Failure): Row {
  return {
    nodes: ["/dev/udmabuf"],
    async run() {
      using tensor = dmabuf.allocate(BYTES);
      await use(tensor);
    },
    ...(fails === undefined ? {} : { fails }),
  };
}

const wrong = (argument: string, message: RegExp, hint?: RegExp): Failure => (
  { error: ArgumentError, api: "dmabuf", argument, message, ...(hint === undefined ? {} : { hint }) }
);
const layout = (argument: string, message: RegExp, api = "core"): Failure => (
  { error: LayoutError, api, argument, message }
);

export default table(import.meta, {
  "an fd that is not open": {
    run: () => dmabuf.attach(closed(), BYTES),
    fails: wrong("fd", /^fd: \d+ is not open/, /Pass an fd that is open in this process/),
  },
  "an fd of a frame that is not open": {
    run: () => dmabuf.attach([closed()], { info: NV12 }),
    fails: wrong("fds[0]", /^fds\[0\]: \d+ is not open/, /Pass an fd that is open in this process/),
  },
  "an fd below zero": { run: () => dmabuf.attach(-1, BYTES), fails: wrong("fd", /expected an fd, got -1/) },
  "half an fd": { run: () => dmabuf.attach(1.5, BYTES), fails: wrong("fd", /expected an fd, got 1.5/) },
  "an fd of 2^31": { run: () => dmabuf.attach(2 ** 31, BYTES), fails: wrong("fd", /expected an fd/) },
  "a path for an fd": {
    run: () => dmabuf.attach(any("/dev/udmabuf"), BYTES),
    fails: wrong("fd", /expected an fd, got "\/dev\/udmabuf"/),
  },
  "a pipe": attachOf(pipe, /got a pipe/, /Send the dma-buf's own fd/),
  "a socket": attachOf(() => libc().socket(1, 1, 0), /got a socket/, /SCM_RIGHTS/),
  "a device": attachOf(() => opened("/dev/null"), /got a device/, /dmabuf.allocate/),
  "a regular file": attachOf(() => opened("/etc/passwd"), /got a regular file/, /read the file/),
  "a memfd": attachOf(memfd, /got a memfd/, /host.attach\(\) takes it/),
  "no description": {
    run: () => dmabuf.attach(0, any(undefined)),
    fails: { error: ArgumentError, api: "core", argument: "description", message: /expected an object/ },
  },
  "a modifier of a tensor": {
    run: () => dmabuf.attach(memfd(), any({ ...BYTES, modifier: X_TILED })),
    fails: { ...layout("init", /unknown property modifier/), hint: /Use shape/ },
  },
  "no dtype": {
    run: () => dmabuf.attach(0, any({ shape: [1] })),
    fails: { ...layout("dtype", /expected a dtype/), hint: /Use one of/ },
  },
  "an access that there is not": {
    run: () => dmabuf.attach(memfd(), BYTES, { access: any("execute") }),
    fails: { error: ArgumentError, api: "core", argument: "access", message: /got "execute"/ },
  },
  "no fds": {
    run: () => dmabuf.attach([], { info: NV12 }),
    fails: wrong("fds", /expected at least one fd/),
  },
  "a frame in a memfd": frameOf({ info: NV12 }, { ...wrong("fd", /got a memfd/), hint: /host.attach/ }),
  "a plane before the buffer": frameOf(
    { info: NV12, planes: [{ offset: -64 }, { offset: 4096 }] },
    layout("byteOffset", /byteOffset/),
  ),
  "a plane with rows that overlap": frameOf(
    { info: NV12, planes: [{ stride: 32 }, { offset: 4096 }] },
    { ...layout("strides[0]", /strides\[0\]/), hint: /in bytes/ },
  ),
  "planes that overlap": frameOf(
    { info: NV12, planes: [{ offset: 0 }, { offset: 2047 }] },
    layout("planes", /two of them overlap/),
  ),
  "too few planes": frameOf({ info: NV12, planes: [{}] }, layout("planes", /expected 2 of NV12, got 1/)),
  "a plane in an fd that was not given": frameOf(
    { info: NV12, planes: [{}, { fd: 1, offset: 4096 }] },
    wrong("planes[1].fd", /expected the place of one of 1 fds, got 1/),
  ),
  "a plane with another name for its stride": frameOf(
    { info: NV12, planes: [{ pitch: 64 }, {}] },
    { error: ArgumentError, api: "core", argument: "planes[0]", message: /unknown property pitch/, hint: /stride/ },
  ),
  "invalid metadata": frameOf(
    { info: NV12, metadata: {} },
    { error: ArgumentError, api: "core", argument: "metadata", message: /expected a Metadata/ },
  ),
  "an odd size of NV12": {
    run: () => dmabuf.attach([0], { info: { ...NV12, width: 63 } }),
    fails: layout("width", /needs a multiple of 2/),
  },
  "a heap that there is not": {
    run: () => dmabuf.allocate({ ...BYTES, from: "/dev/dma_heap/nowhere" }),
    fails: wrong("from", /there is no \/dev\/dma_heap\/nowhere/, /CONFIG_DMABUF_HEAPS/),
  },
  "memory from a file": {
    run: () => dmabuf.allocate({ ...BYTES, from: "/etc/passwd" }),
    fails: wrong("from", /expected the node of an allocator, got "\/etc\/passwd"/, /dmabuf.allocators/),
  },
  "memory from a number": {
    run: () => dmabuf.allocate({ ...BYTES, from: any(5) }),
    fails: wrong("from", /expected a string, got a number/),
  },
  "a tiled frame from an allocator": {
    run: () => dmabuf.allocateFrame(imageInfo({ ...GRAY, modifier: X_TILED })),
    fails: wrong("modifier", /linear memory only/, /Leave it out/),
  },
  "rows aligned to nothing": {
    run: () => dmabuf.allocateFrame(NV12, { rowAlign: -1 }),
    fails: layout("rowAlign", /rowAlign/),
  },
  "a fence of anything but a sync file": {
    run: () => dmabuf.fence(opened("/dev/null")),
    fails: wrong("fd", /expected a sync file/, /eglDupNativeFenceFDANDROID/),
  },
  "a fence of a closed fd": {
    run: () => dmabuf.fence(closed()),
    fails: wrong("fd", /^fd: \d+ is not open/, /Pass an fd that is open in this process/),
  },
  "host memory without an fd": {
    run() {
      using tensor = host.allocate(BYTES);
      using graph = new MapperGraph([host, dmabuf]);
      graph.map(tensor, dmabuf);
    },
    fails: {
      error: NoRouteError,
      api: "core",
      argument: "target",
      message: /the memory has no fd|there is no \/dev\/udmabuf/,
      hint: /sharable: true|modprobe udmabuf/,
    },
  },
  "the end of what is always there": {
    run() {
      dmabuf[Symbol.dispose]();
      dmabuf.allocators();
      if (dmabuf.is(any({}))) throw new Error("anything is a dma-buf");
      new DmaBufContext()[Symbol.dispose]();
    },
  },
  "a description longer than the buffer": withBuffer(
    (tensor) => dmabuf.attach(tensor.exportFd(), { shape: [5000], dtype: "u8" }),
    { ...layout("description", /ends at byte 5000, and the buffer has 4096/, "dmabuf"), hint: /asked of the kernel/ },
  ),
  "an fd of a tensor that was disposed": withBuffer((tensor) => {
    tensor[Symbol.dispose]();
    tensor.exportFd();
  }, { error: DisposedError, api: "core", message: /was disposed/ }),
  "waiting for a tensor that was disposed": withBuffer(async (tensor) => {
    tensor[Symbol.dispose]();
    await tensor.finished();
  }, { error: DisposedError, api: "core", message: /was disposed/ }),
  "a promise as a fence of the kernel's": withBuffer((tensor) => {
    tensor.addFence(host.signal(new Promise<void>(() => {})));
  }, wrong("fence", /no sync file can stand for work of a signal of the host/, /Await fence.wait/)),
  "a number as a fence": withBuffer(
    (tensor) => tensor.addFence(any(5)),
    wrong("fence", /expected a fence, got 5/, /host\.signal/),
  ),
  "two writers by two fds": withBuffer((tensor) => {
    using other = dmabuf.attach(tensor.exportFd(), BYTES);
    using graph = new MapperGraph([host, dmabuf]);
    using _one = graph.map(tensor, host);
    graph.map(other, host);
  }, { error: AccessError, api: "core", message: /are lent to/, hint: /Dispose/ }),
  "a tiled picture for the CPU": withBuffer((tensor) => {
    using frame = dmabuf.attach([tensor.exportFd()], { info: imageInfo({ ...GRAY, modifier: X_TILED }) });
    using graph = new MapperGraph([host, dmabuf]);
    graph.map(frame, host);
  }, { error: NoRouteError, api: "core", argument: "target", message: /I915_FORMAT_MOD_X_TILED/, hint: /linear/ }),
});
