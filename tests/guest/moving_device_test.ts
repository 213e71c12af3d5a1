/**
 * A dma-buf on an OpenCL device that has memory of its own: PoCL under the layer of tests/layer. The compilers take a minute
 * in the guest, cc for the layer and PoCL's for the kernels of the proof.
 */
import { assertEquals } from "@std/assert";
import { host, MapperGraph } from "../../mod.ts";
import { dmabuf } from "../../src/dmabuf/mod.ts";
import { OpenCLContext } from "../../src/opencl/mod.ts";
import { buildLayer, layerEnv } from "../layer/mod.ts";
import { Fd } from "./kernel.ts";
import { guestTest } from "./needs.ts";

const NEEDS = ["/dev/udmabuf", "/usr/bin/cc", "/usr/include/CL/cl_layer.h"];

guestTest("graph.map() of a dma-buf to a device that moves the bytes says so in its route", async () => {
  await buildLayer();
  for (const [name, value] of Object.entries(layerEnv("map"))) Deno.env.set(name, value); // the loader is opened after this
  using cl = OpenCLContext.open({ platform: "Portable" });
  using graph = new MapperGraph([host, dmabuf, cl]);
  using tensor = dmabuf.allocate({ shape: [4096], dtype: "u8" });
  using fd = new Fd(tensor.exportFd());
  using seen = fd.map(4096);
  seen.bytes.fill(40);
  const { steps, bytesMoved } = graph.explain(tensor, cl);
  assertEquals(steps.map(({ edge, transfer }) => [edge, transfer]), [
    ["dmabuf→host", "alias"],
    ["host→opencl", "migrate"],
  ]);
  assertEquals(bytesMoved, 2 * 4096);
  const onDevice = graph.map(tensor, cl);
  assertEquals(onDevice.route.steps.map(({ transfer }) => transfer), ["alias", "migrate"]);
  cl.queue.fill(onDevice, 77);
  await onDevice.finished();
  assertEquals(seen.bytes[4095], 40, "the device has memory of its own");
  await onDevice[Symbol.asyncDispose]();
  assertEquals([seen.bytes[0], seen.bytes[4095]], [77, 77]);
}, NEEDS);
