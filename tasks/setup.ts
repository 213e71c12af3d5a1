// Installs what the demo, the tests or the bench need: `deno task setup [demo|test|guest|aarch64|bench|inference|intel|sycl]`,
// `test` when left out.
//
// `aarch64` unpacks Debian's packages for arm64, qemu and Deno into out/aarch64, and installs nothing.
//
// Most of it comes through apt: it asks dpkg what is missing, says what it is about to install, and never removes a
// package. CUDA's headers and libraries come through pip, into the folder .cuda of this checkout, and Intel's OpenCL for
// CPUs, a third platform for the tests and too large for every machine, into .intel. FFmpeg's headers are downloaded
// through apt and unpacked into .ffmpeg, beside FFmpeg 8 as PyPI and npm have it; so are GStreamer's into .gstreamer,
// Python's into .python beside NumPy, UCX's into .ucx, and the kernel and the drivers of the tests' guest into .guest. Level Zero's null
// driver is built into .levelzero. DLPack's headers come through pip into .dlpack, DPCTL's (SYCL's C API) into .dpctl,
// Intel's SYCL into .sycl, and runtimes of models into .inference. Where it can not install (no root, no apt, no network)
// it says so and exits 0: the demo then runs on the host, and the tests count what they skip. Only in CI is that an error,
// for there a machine without OpenCL must not look like a green run.

import { unpackAarch64 } from "./setup/aarch64.ts";
import { installPackages } from "./setup/apt.ts";
import { unpackDevPackages } from "./setup/dev_packages.ts";
import { unpackHeaders } from "./setup/headers.ts";
import { unpackKernel } from "./setup/kernel.ts";
import { buildNullDriver } from "./setup/levelzero.ts";
import { unpackEgl, unpackLavapipe } from "./setup/mesa.ts";
import { installNpm, NODE_AV, type Npm, ONNX_RUNTIME_NODE } from "./setup/npm.ts";
import { unpackOnnxRuntimeHeader } from "./setup/onnxruntime.ts";
import { PACKAGES, PIP } from "./setup/packages.ts";
import { NEEDS, type Purpose } from "./setup/purpose.ts";
import { unpackVaDriver } from "./setup/va.ts";
import {
  ARROW,
  CUDA,
  DLPACK,
  DPCTL,
  FFMPEG_8,
  hasPip,
  hasWheels,
  INTEL,
  NUMPY,
  ONNX_RUNTIME,
  OPENVINO,
  SYCL,
  unpack,
  type Wheels,
} from "./setup/wheels.ts";

const WHEELS: { readonly [purpose in Purpose]?: readonly Wheels[] } = {
  test: [CUDA, DLPACK, DPCTL, FFMPEG_8, ARROW, NUMPY, ONNX_RUNTIME, OPENVINO],
  inference: [ONNX_RUNTIME, OPENVINO],
  intel: [INTEL],
  sycl: [INTEL, DPCTL, SYCL],
};

const NPM: { readonly [purpose in Purpose]?: readonly Npm[] } = {
  test: [NODE_AV],
  bench: [ONNX_RUNTIME_NODE],
};

/** Installs all that is missing, and returns what could not be installed, and why. */
async function setup(purpose: Purpose): Promise<string[]> {
  const title = NEEDS[purpose];
  const wheels: Wheels[] = [];
  for (const one of WHEELS[purpose] ?? []) if (!await hasWheels(one)) wheels.push(one);
  const packages = PACKAGES.filter((item) => item.for.includes(purpose));
  if (wheels.length > 0 && !await hasPip()) packages.push(PIP);
  const reasons = [
    await installPackages(title, packages),
    ...(await Promise.all([ // from three servers
      Array.fromAsync(wheels, (one) => unpack(title, one)),
      purpose === "test" ? allHeaders(title) : undefined,
      Array.fromAsync(NPM[purpose] ?? [], (one) => installNpm(title, one)),
    ])).flat(),
    purpose === "aarch64" ? await unpackAarch64(title) : undefined,
    purpose === "guest" ? await unpackKernel(title) : undefined,
    purpose === "guest" ? await unpackLavapipe(title) : undefined,
    purpose === "guest" ? await unpackEgl(title) : undefined,
    purpose === "guest" ? await unpackVaDriver(title) : undefined,
  ];
  return reasons.filter((reason) => reason !== undefined);
}

/** What is unpacked of packages and sources, one after the other: apt does not run twice at a time. */
async function allHeaders(title: string): Promise<(string | undefined)[]> {
  return [
    await unpackHeaders(title),
    await unpackDevPackages(title),
    await unpackOnnxRuntimeHeader(title),
    await buildNullDriver(title),
  ];
}

const purpose = Deno.args[0] ?? "test";
if (!Object.hasOwn(NEEDS, purpose)) {
  console.error(`setup: expected ${Object.keys(NEEDS).join(", ")}, not ${purpose}`);
  Deno.exit(2);
}
const reasons = await setup(purpose as Purpose);
for (const reason of reasons) console.error(`setup: ${reason}`);
const inCI = Boolean(Deno.env.get("CI"));
if (reasons.length === 0) console.error("setup: everything is installed");
else if (inCI) console.error("setup: in CI this is an error");
else console.error("setup: going on without; what can not run is skipped, and said");
Deno.exit(inCI && reasons.length > 0 ? 1 : 0);
