import { MapperGraph } from "../../mod.ts";
import { hostToOpenCL } from "../../src/opencl/edges/mod.ts";
import { InteropError, messageOf } from "../../src/core/errors.ts";
import { edgeOf, type Mapper } from "../../src/core/graph/mapper.ts";
import { host } from "../../src/host/mod.ts";
import { OpenCLContext, type OpenCLDevice } from "../../src/opencl/mod.ts";
import { hostEnd } from "./host_end.ts";
import { buffersOf, devicesByName, objectsIn, OpenCLEnd } from "./opencl_end.ts";
import type { Candidate, Subject } from "./subject.ts";

/**
 * Both edges between the host and OpenCL, on every device of every platform; PoCL is the driver that runs every case.
 *
 * @param expected what the edge from the host has to say of itself; of the driver's own memory nothing is known
 */
export function opencl(expected: Subject["expected"] = "as proven"): Candidate[] {
  const edges = [edgeOf(hostToOpenCL as Mapper), "opencl→host"];
  try {
    const devices = devicesByName();
    if (devices.length === 0) return edges.map((edge) => ({ edge, open: "OpenCL has no device" }));
    return devices.flatMap((device) =>
      edges.map((edge) => ({
        edge,
        device: `${device.platform}: ${device.name}`,
        everyLaw: device.platform === "Portable Computing Language",
        open: () => open(edge, device, expected),
      }))
    );
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return edges.map((edge) => ({ edge, open: messageOf(error) }));
  }
}

function open(edge: string, device: OpenCLDevice, expected: Subject["expected"]): Subject {
  const choice = { platform: device.platform, device: device.name };
  const contexts = [OpenCLContext.open(choice), OpenCLContext.open(choice)];
  const ends = contexts.map((context) => new OpenCLEnd(context, buffersOf(context)));
  const graph = new MapperGraph([host, ...contexts]);
  const fromHost = edge.startsWith("host");
  return {
    graph,
    source: fromHost ? hostEnd : ends[0],
    target: fromHost ? ends[0] : hostEnd,
    elsewhere: fromHost ? ends[1] : hostEnd,
    expected: fromHost ? expected : "as proven",
    alive: () => objectsIn(...contexts),
    openContext: () => OpenCLContext.open(choice),
    silentAtOpening: ["opencl.clGetDeviceInfo"], // of what a device does not say, it has none
    quiet: () => ends.forEach((end) => end.quiet()),
    [Symbol.dispose]() {
      using all = new DisposableStack();
      for (const one of [...contexts, ...ends, graph]) all.use(one);
    },
  };
}
