/** Every native call that gives memory and events out, or takes them in, fails once. */
import { assertNoneSwallowed, BYTES, SIZE, swept, test } from "./cuda.ts"; // first: it taps the libraries
import { assertEquals, assertStringIncludes } from "@std/assert";
import { MapperGraph } from "../../mod.ts";
import { Port } from "../../src/core/device/port.ts";
import { layout } from "../../src/core/layout/layout.ts";
import { importAs } from "../../src/core/tensors/over.ts";
import { OpenCLContext, openclDevices } from "../../src/opencl/mod.ts";
import { assertSame } from "../conformance/bytes.ts";
import { exported } from "../cuda/cells/exporter.ts";
import { devices } from "../cuda/help.ts";
import { assertOpenFds, openFds } from "../gc.ts";

test("an fd of virtual memory, and its import", async (cuda) => {
  using memory = cuda.virtual.allocate(BYTES);
  const libc = Deno.dlopen("libc.so.6", { close: { parameters: ["i32"], result: "i32" } }).symbols;
  const once = () => {
    const fd = cuda.virtual.exportFd(memory);
    try {
      cuda.virtual.import(fd, BYTES)[Symbol.dispose]();
    } finally {
      libc.close(fd);
    }
  };
  once();
  const fds = openFds();
  await swept(
    once,
    ["libc.fcntl", "cuda.cuMemImportFromShareableHandle", "cuda.cuMemMap", "cuda.cuMemSetAccess"],
    () => {
      assertOpenFds(fds);
    },
  );
});

test("memory of another API, by its fd", async (cuda) => {
  using memory = cuda.virtual.allocate(BYTES);
  const { byteLength } = memory.grant.allocation.block;
  const once = () => {
    const port = new Port("opaque-fd", { fd: cuda.virtual.exportFd(memory), byteLength });
    importAs(cuda, port, { layouts: [layout(BYTES)], access: "read-write" })[Symbol.dispose]();
  };
  once();
  const fds = openFds();
  await swept(
    once,
    ["cudart.cudaImportExternalMemory", "cudart.cudaExternalMemoryGetMappedBuffer", "cudart.cudaDestroyExternalMemory"],
    () => assertOpenFds(fds),
  );
});

/** Why OpenCL does not have CUDA's first GPU. */
function lacksOpenCL(): string | undefined {
  if (devices.length === 0) return undefined;
  const { uuid } = devices[0].id;
  return openclDevices().some(({ id }) => id.uuid === uuid) ? undefined : "OpenCL does not have this GPU";
}

test(
  "virtual memory for OpenCL, by its fd",
  async (cuda) => {
    const device = openclDevices().find(({ id }) => id.uuid === cuda.id.uuid)!;
    const cl = OpenCLContext.create([device]);
    using made = new DisposableStack();
    made.defer(() => {
      try {
        cl[Symbol.dispose]();
      } catch (error) { // the queue's end reports what could not be reported before
        assertStringIncludes(`${error}`, "clReleaseEvent");
      }
    });
    const graph = made.use(new MapperGraph([cuda, cl]));
    const fds: number[] = [];
    await swept(
      () => {
        using memory = cuda.virtual.allocate(BYTES);
        graph.map(memory, cl)[Symbol.dispose]();
      },
      ["opencl.clCreateBufferWithProperties", "opencl_external.clEnqueueAcquireExternalMemObjectsKHR"],
      () => {
        fds.push(openFds());
        assertEquals(fds.at(-1), fds[0], "open fds");
      },
    );
  },
  1,
  lacksOpenCL(),
);

test("what is given out to other processes", async (cuda) => {
  using memory = cuda.allocate(BYTES);
  await swept(() => {
    cuda.exportMemory(memory);
    cuda.exportEvent()[Symbol.dispose]();
  }, ["cudart.cudaIpcGetMemHandle", "cudart.cudaIpcGetEventHandle", "cudart.cudaEventDestroy"]);
});

test("memory that another process gives out", async (cuda) => {
  const { bytes, end } = await exported(cuda.device.ordinal, [SIZE]);
  try {
    const there = new Uint8Array(SIZE);
    const zeros = new Uint8Array(SIZE);
    await swept(
      () => {
        using opened = cuda.openMemory(bytes);
        cuda.stream.read(opened, there);
      },
      ["cudart.cudaIpcOpenMemHandle", "cuda.cuMemGetAddressRange_v2", "cudart.cudaIpcCloseMemHandle"],
      () => {
        cuda.stream.finish();
        assertSame(there, zeros, "the other process's bytes");
      },
    );
  } finally {
    end();
  }
});

test("an event that another process gives out", async (cuda) => {
  const { event, end } = await exported(cuda.device.ordinal, [SIZE]);
  try {
    await swept(
      () => {
        using opened = cuda.openEvent(event);
        const fence = opened.fence();
        cuda.stream.waitFor(fence);
      },
      ["cudart.cudaIpcOpenEventHandle", "cudart.cudaEventDestroy"],
      () => cuda.stream.finish(),
    );
  } finally {
    end();
  }
});

test("a dma-buf", async (cuda) => {
  using memory = cuda.allocate({ shape: [2 << 20], dtype: "u8" });
  const once = () => cuda.exportDmaBuf(memory)[Symbol.dispose]();
  once();
  const fds = openFds();
  const faults = await swept(
    once,
    ["cuda.cuMemGetHandleForAddressRange"],
    () => assertOpenFds(fds),
  );
  assertNoneSwallowed(faults);
});
