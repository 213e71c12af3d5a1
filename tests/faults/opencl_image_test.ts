/** Every OpenCL call of images and samplers fails once: what comes of it is typed, and nothing stays behind. */
import { assert, assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import { throwAll } from "../../src/core/errors.ts";
import { type Undo, unwind } from "../../src/core/life/undo.ts";
import { Trial } from "../../src/opencl/alias/trial.ts";
import { imageSpecimen } from "../../src/opencl/images/specimen.ts";
import type { OpenCLContext } from "../../src/opencl/mod.ts";
import { close, OPTIONAL, some, test } from "./opencl.ts";
import { sweep } from "./sweep.ts";

const FORMAT = { order: "RGBA", type: "UNSIGNED_INT8" } as const;

const SOURCE = `
kernel void copy(read_only image2d_t from, sampler_t sampler, write_only image2d_t to) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(to, at, read_imageui(from, sampler, at));
}`;

/** The queue holds its last command's event: the last one has to go well. */
function quiet(cl: OpenCLContext): () => void {
  return () => {
    using other = cl.allocate({ shape: [1], dtype: "u8" });
    cl.queue.write(other, new Uint8Array(1));
    cl.queue.finish();
  };
}

test("asking what images there are", async (open) => {
  const faults = await sweep(
    () => {
      using cl = open();
      cl.image(FORMAT);
    },
    undefined,
    OPTIONAL,
  );
  some(faults, "clGetSupportedImageFormats");
});

test("an image of the driver's own, mapped", async (open) => {
  const cl = open();
  const graph = new MapperGraph([host, cl]);
  const target = cl.image(FORMAT);
  const use = () => {
    using image = target.allocate({ shape: [5, 7, 4] });
    using mapped = graph.map(image, host);
    mapped.bytes().fill(1);
  };
  use();
  const faults = await sweep(use, quiet(cl));
  for (const fn of ["clCreateImage", "clEnqueueMapImage", "clEnqueueUnmapMemObject"]) some(faults, fn);
  close(cl);
});

test("a kernel with images and a sampler", async (open) => {
  const cl = open();
  const graph = new MapperGraph([host, cl]);
  const kernel = cl.program(SOURCE).kernel("copy");
  const target = cl.image(FORMAT);
  using from = host.allocate({ shape: [5, 7, 4], dtype: "u8" });
  using to = host.allocate({ shape: [5, 7, 4], dtype: "u8" });
  const use = async () => {
    using sampler = cl.sampler();
    await using a = graph.map(from, target, { access: "read" });
    await using b = graph.map(to, target, { access: "write" });
    kernel.run({ items: [7, 5] }, [a, sampler, b]);
  };
  await use();
  const intact = () => {
    from.assertUsable("read-write");
    to.assertUsable("read-write");
    quiet(cl)();
  };
  const faults = await sweep(use, intact);
  for (const fn of ["clCreateImage", "clCreateSampler", "clSetKernelArg", "clReleaseSampler"]) some(faults, fn);
  close(cl);
});

test("a copy to an image and back", async (open) => {
  const cl = open();
  const graph = new MapperGraph([host, cl]);
  const target = cl.image(FORMAT);
  using source = host.allocate({ shape: [5, 3, 4], dtype: "u8", strides: [13, 4, 1] });
  const bytes = source.view().fill(7).slice();
  const use = () => {
    using _ = graph.map(source, target, { copy: "allow" });
  };
  use();
  const intact = () => {
    assertEquals(source.view(), bytes);
    quiet(cl)();
  };
  const faults = await sweep(use, intact);
  for (const fn of ["clEnqueueWriteImage", "clEnqueueReadImage"]) some(faults, fn);
  close(cl);
});

test("the specimen of a proof for images: its making, and its kernels", async (open) => {
  const cl = open();
  const { format } = cl.image(FORMAT);
  for (const host of [{ address: 64, row: { divisor: 64, padded: true }, paddedSlices: false }, undefined]) {
    const use = () => {
      const undo: Undo = [];
      const errors: unknown[] = [];
      try {
        const specimen = imageSpecimen(cl, { type: "2D", format, ...(host === undefined ? {} : { host }) }, undo);
        assert(typeof specimen !== "string", "it is not such memory");
        using queue = cl.createQueue();
        new Trial(cl, specimen, undo).warmUp(queue);
      } catch (error) {
        errors.push(error);
      }
      throwAll([...errors, ...unwind(undo)], "the proof");
    };
    use();
    const faults = await sweep(use, quiet(cl));
    for (const fn of ["clCreateImage", "clEnqueueNDRangeKernel", "clBuildProgram"]) some(faults, fn);
  }
  close(cl);
});
