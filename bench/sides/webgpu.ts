// A frame inverted by Deno's own WebGPU: written to the GPU's memory, and read back from a buffer that is mapped.
// bench/harness/serve.ts says how it is asked.

import { assertInverse, FRAME, PIXELS, randomize } from "../harness/frame.ts";
import type { Operation } from "../harness/operation.ts";
import { serve } from "../harness/serve.ts";

const BYTES = PIXELS * FRAME.shape[2];
const GROUP = 256;
const SHADER = `
@group(0) @binding(0) var<storage, read_write> pixels: array<u32>;
@compute @workgroup_size(${GROUP})
fn invert(@builtin(global_invocation_id) id: vec3u) { pixels[id.x] = ~pixels[id.x]; }`;

/** Inverts `frame`, and hands the result to `look` while it is mapped. */
function inverter(
  gpu: GPUDevice,
  frame: Uint8Array<ArrayBuffer>,
): (look: (bytes: Uint8Array) => void) => Promise<void> {
  const pipeline = gpu.createComputePipeline({
    layout: "auto",
    compute: { module: gpu.createShaderModule({ code: SHADER }), entryPoint: "invert" },
  });
  const pixels = gpu.createBuffer({
    size: BYTES,
    usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
  });
  const result = gpu.createBuffer({ size: BYTES, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const bindings = gpu.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [{ binding: 0, resource: { buffer: pixels } }],
  });
  return async (look) => {
    gpu.queue.writeBuffer(pixels, 0, frame);
    const encoder = gpu.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindings);
    pass.dispatchWorkgroups(PIXELS / GROUP);
    pass.end();
    encoder.copyBufferToBuffer(pixels, 0, result, 0, BYTES);
    gpu.queue.submit([encoder.finish()]);
    await result.mapAsync(GPUMapMode.READ);
    look(new Uint8Array(result.getMappedRange()));
    result.unmap();
  };
}

async function operation(gpu: GPUDevice): Promise<Operation> {
  const frame = new Uint8Array(BYTES);
  randomize(frame);
  const invert = inverter(gpu, frame);
  await invert((bytes) => assertInverse(bytes, frame));
  const wanted = 255 - frame[BYTES - 1];
  return {
    async run(count) {
      for (let i = 0; i < count; i++) {
        await invert((bytes) => {
          if (bytes[BYTES - 1] !== wanted) throw new Error("the frame was not inverted");
        });
      }
    },
  };
}

// Mesa complains where it is not set, and needs it for nothing here.
if (!Deno.env.has("XDG_RUNTIME_DIR")) Deno.env.set("XDG_RUNTIME_DIR", "/tmp");
const adapter = await navigator.gpu?.requestAdapter();
if (!adapter) {
  console.log("missing: no WebGPU adapter (apt install mesa-vulkan-drivers)");
} else {
  const gpu = await adapter.requestDevice({ requiredLimits: { maxBufferSize: BYTES } });
  await serve({ invert: () => operation(gpu) });
  Deno.exit(); // the device keeps the process alive
}
