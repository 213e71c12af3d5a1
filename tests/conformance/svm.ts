import { hostToOpenCLSvm, MapperGraph, openCLSvmToHost } from "../../mod.ts";
import { InteropError, messageOf } from "../../src/core/errors.ts";
import { edgeOf, type Mapper } from "../../src/core/mapper.ts";
import { host } from "../../src/host/mod.ts";
import {
  OpenCLContext,
  type OpenCLDevice,
  openclDevices,
  type OpenCLSvmTensor,
  type SvmGrain,
} from "../../src/opencl/mod.ts";
import { hostEnd } from "./host_end.ts";
import { gateOf, type Memory, OpenCLEnd } from "./opencl_end.ts";
import { PASS } from "./opencl_raw.ts";
import type { Candidate, Subject } from "./subject.ts";

const TO_HOST = edgeOf(openCLSvmToHost as Mapper);
const FROM_HOST = edgeOf(hostToOpenCLSvm as Mapper);

/** The edges between the host and shared virtual memory, for each grain that a device can have. */
export function svm(): Candidate[] {
  try {
    const devices = openclDevices();
    if (devices.length === 0) return [TO_HOST, FROM_HOST].map((edge) => ({ edge, open: "OpenCL has no device" }));
    return devices.flatMap((device) => [
      toHost(device, "coarse", device.svm.coarseGrainBuffer),
      toHost(device, "fine", device.svm.fineGrainBuffer),
      fromHost(device),
    ]);
  } catch (error) {
    if (!(error instanceof InteropError)) throw error;
    return [TO_HOST, FROM_HOST].map((edge) => ({ edge, open: messageOf(error) }));
  }
}

function toHost(device: OpenCLDevice, grain: SvmGrain, here: boolean): Candidate {
  return {
    edge: TO_HOST,
    device: `${device.platform}: ${device.name}, ${grain}`,
    open: here ? () => open(TO_HOST, device, grain) : `the device has no ${grain}-grained buffer sharing`,
  };
}

function fromHost(device: OpenCLDevice): Candidate {
  return {
    edge: FROM_HOST,
    device: `${device.platform}: ${device.name}`,
    open: device.svm.fineGrainSystem
      ? () => open(FROM_HOST, device, "fine")
      : "the device has no fine-grained system sharing",
  };
}

function open(edge: string, device: OpenCLDevice, grain: SvmGrain): Subject {
  const choice = { platform: device.platform, device: device.name };
  const contexts = [OpenCLContext.open(choice), OpenCLContext.open(choice)];
  const ends = contexts.map((context) => new OpenCLEnd(context, memoryOf(context, grain)));
  const graph = new MapperGraph([host, ...contexts]);
  const [source, target, elsewhere] = edge === FROM_HOST ? [hostEnd, ...ends] : [ends[0], hostEnd, hostEnd];
  return {
    graph,
    source,
    target,
    elsewhere,
    expected: "as proven",
    ...(grain === "fine" ? { withoutCalls: true } : {}),
    gate: () => gateOf(contexts[0]),
    quiet: () => ends.forEach((end) => end.quiet()),
    [Symbol.dispose]() {
      using all = new DisposableStack();
      for (const one of [...contexts, ...ends, graph]) all.use(one);
    },
  };
}

function memoryOf(context: OpenCLContext, grain: SvmGrain): Memory {
  return {
    target: context.svm,
    allocate: (init) => context.svm.allocate({ ...init, grain }),
    argumentsOf: (tensor) => [tensor as OpenCLSvmTensor, 0],
    placeOf(tensor) {
      const { rawHandle, layout } = tensor as OpenCLSvmTensor;
      return { pass: PASS.svm(rawHandle), offset: layout.byteOffset, length: layout.byteLength };
    },
  };
}
