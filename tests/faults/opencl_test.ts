/** Every OpenCL call fails once: what comes of it is typed, nothing stays behind, and no memory is given back too early. */
import { assert, assertEquals } from "@std/assert";
import { Frame, host, imageInfo, MapperGraph } from "../../mod.ts";
import { openclDevices } from "../../src/opencl/mod.ts";
import { gate } from "../gate.ts";
import { close, OPTIONAL, some, SOURCE, test } from "./opencl.ts";
import { sweep } from "./sweep.ts";

const ITEMS = 16_384;

test("listing devices: one that does not report everything is a device", async () => {
  const all = openclDevices().length;
  const told: number[] = [];
  const faults = await sweep(() => void told.push(openclDevices().length), undefined, OPTIONAL);
  some(faults, "clGetDeviceInfo");
  assert(told.every((count) => count === all), `${told}`);
  assert(faults.filter((fault) => fault.error === undefined).length > 10, "an optional question ended the list");
});

test("opening a context", async (open) => {
  const faults = await sweep(
    () => {
      using _ = open();
    },
    undefined,
    OPTIONAL,
  );
  some(faults, "clCreateCommandQueueWithProperties");
});

test("a program and its kernel", async (open) => {
  const cl = open();
  const faults = await sweep(() => {
    using program = cl.program(SOURCE);
    using _kernel = program.kernel("fill");
  });
  some(faults, "clGetKernelArgInfo");
  close(cl);
});

test("a map of a frame in two blocks, whose views stay where a plane of it fails", async (open) => {
  const cl = open();
  const graph = new MapperGraph([host, cl]);
  const planes = [[32, 64], [16, 32, 2]].map((shape) => host.allocate({ shape, dtype: "u8" }));
  using picture = Frame.of(planes, imageInfo({ format: "NV12", width: 64, height: 32 }));
  const mapped = () => {
    const views = planes.map((plane) => plane.view());
    try {
      return graph.map(picture, cl);
    } catch (error) {
      assertEquals(views.map(({ length }) => length), [2048, 1024]);
      throw error;
    }
  };
  const use = () => mapped()[Symbol.dispose]();
  use(); // its proof is another test's
  const faults = await sweep(use);
  some(faults, "clCreateBuffer");
  close(cl);
});

test("a kernel behind a promise", async (open) => {
  const cl = open();
  const kernel = cl.program(SOURCE).kernel("fill");
  const quiet = () => {
    using other = cl.allocate({ shape: [1], dtype: "u8" });
    cl.queue.write(other, new Uint8Array(1));
    cl.queue.finish();
  };
  const faults = await sweep(async () => {
    await using tensor = cl.allocate({ shape: [256], dtype: "u8" });
    using opening = gate(); // its end comes first: that of the tensor waits for it
    kernel.run({ items: [256] }, [tensor, 7], { after: opening.fence });
    await opening.complete();
    await cl.queue.fence().wait();
  }, quiet);
  for (const fn of ["clEnqueueNDRangeKernel", "clSetUserEventStatus"]) some(faults, fn);
  close(cl);
});

test("the proof of aliasing, which then proves nothing until it is run again", async (open) => {
  const cl = open();
  // An address that is not a multiple of 2 has a class of its own, which nothing before has asked about.
  const odd = cl.memory.classOf(4097n, 1001);
  const judged: boolean[] = [];
  const faults = await sweep(() => {
    try {
      cl.proofs.prove(odd);
    } finally {
      judged.push(cl.proofs.judge(odd).aliases);
    }
  }, () => cl.queue.finish());
  some(faults, "clEnqueueNDRangeKernel");
  const proven = judged.indexOf(true);
  assert(proven > 0 && !judged.slice(proven).includes(false), `in turn: ${judged.join(" ")}`);
  close(cl);
});

test("a map whose kernel is at work", async (open) => {
  const cl = open();
  using graph = new MapperGraph([host, cl]);
  const slow = cl.program(SOURCE).kernel("slow");
  using source = host.allocate({ shape: [ITEMS], dtype: "u8" });
  const other = cl.allocate({ shape: [ITEMS], dtype: "u8" });
  const settled = () => {
    assert(cl.queue.fence().reached(), "the memory was given back while the kernel was at work");
    source.assertUsable("read-write");
    cl.queue.finish();
  };
  const mapAndRead = () => {
    using mapped = graph.map(source, cl, { access: "read" });
    slow.run({ items: [ITEMS] }, [mapped, other]);
  };
  const mapAndWrite = () => {
    using mapped = graph.map(source, cl, { access: "write" });
    slow.run({ items: [ITEMS] }, [other, mapped]);
  };
  mapAndRead(); // the first map runs the proof
  for (const operation of [mapAndRead, mapAndWrite]) some(await sweep(operation, settled), "clGetEventInfo");
  graph[Symbol.dispose]();
  close(cl);
});
