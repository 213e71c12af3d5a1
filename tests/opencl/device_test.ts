import { assert, assertEquals, assertMatch } from "@std/assert";
import { ArgumentError } from "@samepage/interop";
import { OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { ALL, deviceOf, type Platform, test, testEach, thrown } from "./help.ts";
import { linesOf, runText } from "./subprocess.ts";

const TYPES: Readonly<Record<Platform, string>> = { pocl: "cpu", rusticl: "cpu", nvidia: "gpu", intel: "cpu" };

testEach("a device describes itself", (platform) => {
  const device = deviceOf(platform);
  assert(device);
  assertEquals(device.type, TYPES[platform] ?? device.type);
  assertMatch(device.version, /^OpenCL \d\.\d/);
  assert(device.name !== "" && device.vendor !== "" && device.driver !== "");
  assert(device.extensions.every((name) => /^cl_\w+$/.test(name)));
  assert(device.computeUnits >= 1 && device.maxWorkGroupSize >= 1 && device.maxWorkItemSizes.length === 3);
  assert(device.subBufferAlign >= 1 && Number.isInteger(Math.log2(device.subBufferAlign)));
  assert(device.localMemory > 0 && device.maxAllocation > 0);
  assertEquals(device.addressBits, 64);
  assert(device.globalMemory >= device.maxAllocation);
  assertEquals([device.unifiedMemory, device.parent], [device.type === "cpu", undefined]); // whole
  assert(device.images !== undefined && device.images.max2d.every((n) => n >= 2048), "OpenCL's least");
  assert(device.images.max3d.length === 3 && device.images.maxSamplers > 0);
  assert(device.queues.profiling, "every device has it");
});

const SVM: Readonly<Record<Platform, readonly boolean[]>> = {
  pocl: [true, true, false, true],
  rusticl: [false, false, false, false],
  nvidia: [true, false, false, false],
  intel: [true, true, true, true],
};

for (const [platform, expected] of Object.entries(SVM)) {
  if (!ALL.includes(platform)) continue;
  test(`${platform}: a device reports which shared virtual memory it has`, [platform], () => {
    const { svm } = deviceOf(platform);
    assertEquals([svm.coarseGrainBuffer, svm.fineGrainBuffer, svm.fineGrainSystem, svm.atomics], expected);
  });
}

testEach("a device that shares with no other API says so", (platform) => {
  const { extensions, sharing } = deviceOf(platform);
  assertEquals(sharing.extensions.filter((name) => !extensions.includes(name)), []);
  if (!extensions.includes("cl_khr_external_memory")) assertEquals(sharing.memoryImports, []);
  if (!extensions.includes("cl_khr_external_semaphore")) assertEquals(sharing.semaphoreImports, []);
  if (!extensions.includes("cl_khr_semaphore")) assertEquals(sharing.semaphores, []);
});

testEach("a device is chosen by platform, name and type, in any case", (platform) => {
  const device = deviceOf(platform);
  const choices = [
    { platform: device.platform.toUpperCase() },
    { platform: device.platform, device: device.name.slice(3, 10), type: device.type },
    { platform: device.platform, device: device.name },
  ] as const;
  for (const choice of choices) {
    using cl = OpenCLContext.open(choice);
    assertEquals([cl.device.platform, cl.device.name], [device.platform, device.name]);
    assertEquals(cl.name, device.name);
  }
});

test("no device fits: the error lists those that are there", ["pocl"], () => {
  const [device] = openclDevices();
  for (
    const choice of [
      { platform: "no such platform" },
      { device: "no such device" },
      { type: "accelerator" },
      { uuid: "00000000-0000-0000-0000-000000000000" },
      { platform: deviceOf("pocl").platform, device: "llvmpipe" },
    ] as const
  ) {
    const error = thrown(ArgumentError, () => OpenCLContext.open(choice));
    assertEquals(error.argument, "choice");
    assert(error.message.includes(device.name), error.message);
  }
});

test("a UUID is compared without dashes and case, and without the GPU- of nvidia-smi", ["pocl"], () => {
  for (const { id: { uuid } } of openclDevices()) {
    if (uuid === undefined) continue;
    assertMatch(uuid, /^[0-9a-f]{32}$/);
    const dashed = `${uuid.slice(0, 8)}-${uuid.slice(8)}`;
    for (const written of [dashed.toUpperCase(), `GPU-${dashed}`]) {
      using cl = OpenCLContext.open({ uuid: written });
      assertEquals(cl.id.uuid, uuid);
    }
  }
});

test("a misspelt choice is refused: it would be whichever device comes first", ["pocl"], () => {
  // deno-lint-ignore no-explicit-any -- what JavaScript passes
  const error = thrown(ArgumentError, () => OpenCLContext.open({ plattform: "no such platform" } as any));
  assertEquals([error.argument, error.hint], ["choice", "Use platform, device, type, uuid, gl, on."]);
});

const PRINT_CHOSEN = `
const { OpenCLContext } = await import("@samepage/interop/opencl");
try {
  using cl = OpenCLContext.open();
  console.log(cl.device.platform);
} catch (error) {
  console.log(error.name, error.message);
}`;

test("SAMEPAGE_OPENCL_DEVICE chooses", ["pocl", "rusticl"], async () => {
  const cases = { "rusticl": "rusticl", ":llvmpipe": "rusticl", "portable:": "Portable", "rusticl:llvm": "rusticl" };
  for (const [value, platform] of Object.entries(cases)) {
    const [line] = await linesOf(PRINT_CHOSEN, { env: { SAMEPAGE_OPENCL_DEVICE: value } });
    assert(line.startsWith(platform), `${value}: ${line}`);
  }
  const [line] = await linesOf(PRINT_CHOSEN, { env: { SAMEPAGE_OPENCL_DEVICE: "nowhere:nothing" } });
  assert(line.startsWith("ArgumentError") && line.includes("nowhere"), line);
});

test("SAMEPAGE_OPENCL_DEVICE is not read without permission, nor asked for", ["pocl", "rusticl"], async () => {
  const flags = ["--no-prompt", "--allow-ffi"];
  const text = PRINT_CHOSEN;
  const { code, stdout, stderr } = await runText(text, { flags, env: { SAMEPAGE_OPENCL_DEVICE: "nowhere" } });
  assertEquals([code, stderr], [0, ""]);
  assert(!stdout.startsWith("ArgumentError"), stdout);
});
