// The doctor and clinfo ask the same drivers: every field that both show is the same.

import { assert, assertEquals } from "@std/assert";
import type { Fact } from "@samepage/interop/doctor";
import { hasDevice } from "../opencl/present.ts";
import { exec } from "../package/project.ts";
import { reported } from "./run.ts";

/** What clinfo calls a thing, and what it says of it. */
type Fields = Readonly<Record<string, unknown>>;

/** `clinfo --json`, as far as it is compared. */
interface ClInfo {
  readonly platforms: readonly Fields[];
  readonly devices: readonly { readonly online: readonly Fields[] }[];
  readonly icd_loader?: Fields;
}

const ENV = { RUSTICL_ENABLE: "llvmpipe" };
const version = await exec("clinfo", ["--version"]).catch(() => undefined);
const missing = version === undefined ? "clinfo" : hasDevice() ? undefined : "an OpenCL device";

/** Bit fields are objects there, with the names of the bits. */
function plain(value: unknown): unknown {
  if (typeof value === "string") return value.trim();
  return typeof value === "object" && value !== null && "raw" in value ? value.raw : value;
}

/** Compares what both show, and returns how many that are. */
function compare(facts: readonly Fact[], fields: Fields): number {
  const both = facts.filter(({ name, value }) => value !== undefined && name in fields);
  const ours = Object.fromEntries(both.map(({ name, value }) => [name, value]));
  assertEquals(ours, Object.fromEntries(both.map(({ name }) => [name, plain(fields[name])])));
  return both.length;
}

Deno.test({
  name: missing === undefined ? "doctor agrees with clinfo" : `doctor agrees with clinfo (skipped: needs ${missing})`,
  ignore: missing !== undefined,
  async fn(step) {
    const { stdout } = await exec("clinfo", ["--json"], { env: ENV });
    const clinfo: ClInfo = JSON.parse(stdout);
    const report = await reported(["--no-proof"], { env: ENV });
    const opencl = report.apis.find(({ api }) => api === "opencl")!;

    await step.step("on the loader", () => {
      if (clinfo.icd_loader === undefined) return assertEquals(opencl.library.facts, []);
      assertEquals(compare(opencl.library.facts, clinfo.icd_loader), opencl.library.facts.length);
    });
    await step.step("on the platforms, and how many devices each has", () => {
      assertEquals(opencl.drivers.length, clinfo.platforms.length);
      opencl.drivers.forEach((driver, i) => {
        assertEquals(compare(driver.facts, clinfo.platforms[i]), driver.facts.length);
        assertEquals(driver.devices.length, clinfo.devices[i].online.length);
      });
    });
    const online = clinfo.devices.flatMap((devices) => devices.online);
    assertEquals(opencl.devices.length, online.length);
    for (const [i, device] of opencl.devices.entries()) {
      await step.step(`on ${device.name}`, () => {
        const compared = compare(device.facts, online[i]);
        assert(compared >= 30, `only ${compared} fields are in both`);
        assertEquals(device.name, online[i].CL_DEVICE_NAME);
      });
    }
  },
});
