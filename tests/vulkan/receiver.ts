/**
 * The other process of tests: `receiver.ts PATH vulkan|opencl|cuda UUID` receives a tensor, says what its bytes are the
 * pattern of, and writes the next pattern.
 *
 * @module
 */
import { CudaContext } from "@samepage/interop/cuda";
import { connect } from "@samepage/interop/channel";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { VulkanContext, type VulkanTensor } from "@samepage/interop/vulkan";
import { pattern } from "./pattern.ts";

const [path, api, uuid] = Deno.args;

/** A context, and the queue or stream that reads and writes its tensors. */
// deno-lint-ignore no-explicit-any -- each API's own tensors
function opened(): { readonly context: any; readonly commands: any } {
  if (api === "vulkan") {
    const context = VulkanContext.open(uuid === "" ? {} : { uuid });
    return { context, commands: context.queue };
  }
  if (api === "opencl") {
    const context = OpenCLContext.create([openclDevices().find(({ id }) => id.uuid === uuid)!]);
    return { context, commands: context.queue };
  }
  const context = CudaContext.open({ uuid });
  return { context, commands: context.stream };
}

const { context, commands } = opened();
using _context = context;
using peer = connect(path, { contexts: [context] });
for await (const message of peer) {
  using tensor = message as VulkanTensor;
  const { byteLength } = tensor.layout;
  const bytes = new Uint8Array(byteLength);
  commands.read(tensor, bytes);
  const [seed] = bytes;
  const isRight = pattern(byteLength, seed).every((byte, i) => byte === bytes[i]);
  if (tensor.access !== "read") commands.write(tensor, pattern(byteLength, seed + 1));
  console.log(`${tensor.target.kind} ${tensor.layout.shape} ${tensor.access} ${isRight ? seed : "wrong"}`);
}
