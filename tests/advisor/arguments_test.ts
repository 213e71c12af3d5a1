// Whatever is wrong with a request is an ArgumentError that names the field.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ArgumentError } from "../../src/core/errors.ts";
import {
  advise,
  adviseAttach,
  adviseDevice,
  adviseSync,
  advisorRow,
  judgeClaim,
  memoryFunctions,
  prefetchOf,
  tegraFeature,
  tegraReach,
} from "../../src/advisor/mod.ts";
import { ORIN } from "./devices.ts";

/** What a program in JavaScript may pass. */
// deno-lint-ignore no-explicit-any -- the point is what types forbid
type Anything = any;

const REQUEST = { size: 1, cpu: "read-write", gpu: "coalesced", device: ORIN };

const asked = (change: Anything) => () => advise({ ...REQUEST, ...change });
const askedOf = (change: Anything) => asked({ device: { ...ORIN, ...change } });
const work = (change: Anything) => () =>
  adviseDevice({ data: "soc", kernel: { igpu: 1, dgpu: 1 }, transfer: 1, ...change });

const WRONG: readonly (readonly [argument: string, call: () => unknown])[] = [
  ["request", () => advise(undefined as Anything)],
  ["request", () => advise(null as Anything)],
  ["size", asked({ size: 0 })],
  ["size", asked({ size: -1 })],
  ["size", asked({ size: 1.5 })],
  ["size", asked({ size: NaN })],
  ["size", asked({ size: 2 ** 53 })],
  ["size", asked({ size: 1n })],
  ["size", asked({ size: undefined })],
  ["cpu", asked({ cpu: "often" })],
  ["cpu", asked({ cpu: undefined })],
  ["cpu", asked({ cpu: "none", existing: true })],
  ["gpu", asked({ gpu: "strided" })],
  ["gpu", asked({ gpu: ["coalesced"] })],
  ["gpu", asked({ cpu: "none", gpu: "none" })],
  ["repeats", asked({ repeats: 0 })],
  ["repeats", asked({ repeats: Infinity })],
  ["existing", asked({ existing: 1 })],
  ["contexts", asked({ contexts: 0 })],
  ["gpuWrites", asked({ gpuWrites: "no" })],
  ["safety", asked({ safety: null })],
  ["smallUpTo", asked({ smallUpTo: -1 })],
  ["device", asked({ device: undefined })],
  ["device", asked({ device: "Orin" })],
  ["device.integrated", askedOf({ integrated: 1 })],
  ["device.system", askedOf({ system: "jetson" })],
  ["device.computeCapability", askedOf({ computeCapability: 8.7 })],
  ["device.computeCapability", askedOf({ computeCapability: undefined })],
  ["device.computeCapability.major", askedOf({ computeCapability: { major: "8", minor: 7 } })],
  ["device.computeCapability.minor", askedOf({ computeCapability: { major: 8, minor: -1 } })],
  ["device.tegraComputeCapability.major", askedOf({ tegraComputeCapability: {} })],
  ["device.canMapHostMemory", askedOf({ canMapHostMemory: undefined })],
  ["device.hostRegisterSupported", askedOf({ hostRegisterSupported: 0 })],
  ["device.managedMemory", askedOf({ managedMemory: "yes" })],
  ["device.concurrentManagedAccess", askedOf({ concurrentManagedAccess: {} })],
  ["device.pageableMemoryAccess", askedOf({ pageableMemoryAccess: null })],
  ["device.hostRegisterReadOnlySupported", askedOf({ hostRegisterReadOnlySupported: 1 })],
  ["device.os", askedOf({ os: "windows" })],
  ["request", () => adviseSync(1 as Anything)],
  ["favour", () => adviseSync({ device: ORIN, favour: "speed" as Anything })],
  ["favour", () => adviseSync({ device: ORIN, favour: "toString" as Anything })],
  ["cudaVersion", () => adviseSync({ device: ORIN, cudaVersion: 12.4 })],
  ["cudaVersion", () => adviseSync({ device: ORIN, cudaVersion: 12 })],
  ["request", () => adviseDevice(undefined as Anything)],
  ["data", work({ data: "host" })],
  ["kernel", work({ kernel: undefined })],
  ["transfer", work({ transfer: undefined })],
  ["transfer", work({ transfer: -1 })],
  ["kernel.igpu", work({ kernel: { igpu: NaN, dgpu: 1 } })],
  ["kernel.dgpu", work({ kernel: { igpu: 1 } })],
  ["latency", work({ latency: 5 })],
  ["latency.igpu", work({ latency: { igpu: Infinity, dgpu: 0 } })],
  ["managed", work({ managed: 1 })],
  ["request", () => adviseAttach(null as Anything)],
  ["cpu", () => adviseAttach({ cpu: "write" as Anything, device: ORIN })],
  ["oneStream", () => adviseAttach({ cpu: "none", device: ORIN, oneStream: 1 as Anything })],
  ["previous", () => prefetchOf("cudaMemAttach" as Anything, "cudaMemAttachHost")],
  ["current", () => prefetchOf("cudaMemAttachHost", 2 as Anything)],
  ["kind", () => memoryFunctions("unified" as Anything)],
  ["kind", () => tegraReach("host" as Anything, "cpu", ORIN)],
  ["processor", () => tegraReach("pinned", "igpu" as Anything, ORIN)],
  ["feature", () => tegraFeature("egl" as Anything, ORIN)],
  ["safety", () => tegraFeature("jit", ORIN, 1 as Anything)],
  ["id", () => advisorRow("003/3.1/nothing" as Anything)],
  ["measured", () => judgeClaim({ expected: "mapped-faster" }, undefined as Anything)],
  ["measured.mapped", () => judgeClaim({ expected: "mapped-faster" }, { mapped: 0, copied: 1 })],
  ["measured.copied", () => judgeClaim({ expected: "mapped-faster" }, { mapped: 1, copied: NaN })],
];

for (const [i, [argument, call]] of WRONG.entries()) {
  Deno.test(`arguments: ${argument} is named (${i})`, () => {
    const error = assertThrows(call, ArgumentError, `${argument}: `);
    assertEquals([error.argument, error.api], [argument, "cuda"]);
  });
}

Deno.test("arguments: what is undefined is the default", () => {
  const names = ["repeats", "existing", "contexts", "gpuWrites", "safety", "smallUpTo"];
  const undefineds = Object.fromEntries(names.map((name) => [name, undefined]));
  assertEquals(asked(undefineds)(), asked({})());
  const traits = { os: undefined, tegraComputeCapability: undefined, hostRegisterReadOnlySupported: undefined };
  assertEquals(askedOf(traits)(), asked({})());
});

/** Fields that there are not, and where. */
const MISSPELT: readonly (readonly [message: string, call: () => unknown])[] = [
  ["request: unknown property repeat.", asked({ repeat: 50 })],
  ["request: unknown property favor.", () => adviseSync({ device: ORIN, favor: "power" } as Anything)],
  ["request: unknown property stream.", () => adviseAttach({ cpu: "read-write", device: ORIN, stream: 1 } as Anything)],
  ["request: unknown property move.", work({ data: "soc", move: 1 })],
  ["kernel: unknown property cpu.", work({ kernel: { igpu: 1, dgpu: 1, cpu: 1 } })],
  ["device: unknown property unifiedMemory.", askedOf({ unifiedMemory: true })],
  [
    "measured: unknown property copy.",
    () => judgeClaim({ expected: "copy-faster" }, { mapped: 1, copied: 1, copy: 2 } as Anything),
  ],
];

Deno.test("arguments: what is misspelt is refused, with the right names", () => {
  for (const [message, call] of MISSPELT) {
    const { hint } = assertThrows(call, ArgumentError, message);
    assert(hint?.startsWith("Use "), hint);
  }
});
