// A GPU's memory in another process, by an opaque fd: Vulkan's and CUDA's, in Vulkan, OpenCL and CUDA.

import { assertEquals } from "@std/assert";
import type { Access, Tensor } from "@samepage/interop";
import { gpus, pattern, sharingTest } from "./gpu.ts";
import { withReceiver } from "./receiving.ts";

const LENGTH = 3_000_001;

/** Sent twice: to be read, then to be read and written. Each side sees what the other has written. */
async function usedByAnother(
  api: "vulkan" | "opencl" | "cuda",
  tensor: Tensor,
  commands: { write(tensor: Tensor, bytes: Uint8Array): unknown; read(tensor: Tensor, into: Uint8Array): unknown },
): Promise<void> {
  await withReceiver({ api, uuid: gpus[0].uuid }, async (receiver) => {
    const use = (access: Access) => receiver.use(tensor, access);
    const bytes = new Uint8Array(LENGTH);
    for (let turn = 0; turn < 3; turn++) {
      commands.write(tensor, pattern(LENGTH, 10 * turn));
      assertEquals(await use("read"), `${api} ${LENGTH} read ${10 * turn}`);
      assertEquals(await use("read-write"), `${api} ${LENGTH} read-write ${10 * turn}`);
      commands.read(tensor, bytes);
      assertEquals(bytes, pattern(LENGTH, 10 * turn + 1));
    }
  });
}

for (const api of ["vulkan", "opencl", "cuda"] as const) {
  sharingTest(`another process uses Vulkan's memory with ${api}`, async () => {
    using vulkan = gpus[0].vulkan();
    using tensor = vulkan.allocate({ shape: [LENGTH], dtype: "u8", byteOffset: 4096, exportAs: "opaque-fd" });
    await usedByAnother(api, tensor, vulkan.queue as never);
  });

  sharingTest(`another process uses CUDA's virtual memory with ${api}`, async () => {
    using cuda = gpus[0].cuda();
    using tensor = cuda.virtual.allocate({ shape: [LENGTH], dtype: "u8", sharable: true });
    await usedByAnother(api, tensor, cuda.stream as never);
  });
}
