// What the doctor says of SYCL and Level Zero: the platforms and devices that DPCTL and the loader list, and what is closed.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { DPCTL_ALL } from "../../ffi/sycl/constants.ts";
import { isStandIn, openSycl, STAND_IN } from "../sycl/open.ts";
import { buildDriver, DEVICE, hasNullDriver, LIBRARY, NULL_DEVICE } from "../levelzero/drivers.ts";
import { NULL_DRIVER } from "../../tasks/setup/levelzero.ts";
import { reported } from "./run.ts";

const FLAGS = ["--allow-ffi", "--allow-env"];
const noSycl = await openSycl();
const noLevelZero = await buildDriver();
const sycl = isStandIn() ? STAND_IN : Deno.env.get("SAMEPAGE_LIB_SYCL")!;

async function reportOf(api: string, env: Record<string, string>, args: readonly string[] = []) {
  const { apis, targets, edges } = await reported(args, { env, flags: FLAGS });
  const about = apis.find((one) => one.api === api)!;
  return { ...about, targets: targets.filter((one) => one.api === api), edges };
}

/** The platforms and devices that DPCTL lists by itself, platform by platform, as `dpctl --full-list` does. */
function listed(): [platform: string, devices: string[]][] {
  const pointer = "pointer";
  const { symbols: lib } = Deno.dlopen(sycl, {
    DPCTLPlatform_GetPlatforms: { parameters: [], result: pointer },
    DPCTLPlatformVector_Size: { parameters: [pointer], result: "usize" },
    DPCTLPlatformVector_GetAt: { parameters: [pointer, "usize"], result: pointer },
    DPCTLPlatform_GetName: { parameters: [pointer], result: pointer },
    DPCTLPlatform_GetDevices: { parameters: [pointer, "i32"], result: pointer },
    DPCTLDeviceVector_Size: { parameters: [pointer], result: "usize" },
    DPCTLDeviceVector_GetAt: { parameters: [pointer, "usize"], result: pointer },
    DPCTLDevice_GetName: { parameters: [pointer], result: pointer },
  });
  const text = (at: Deno.PointerValue) => new Deno.UnsafePointerView(at!).getCString();
  const all = lib.DPCTLPlatform_GetPlatforms();
  return Array.from({ length: Number(lib.DPCTLPlatformVector_Size(all)) }, (_, i) => {
    const platform = lib.DPCTLPlatformVector_GetAt(all, BigInt(i));
    const devices = lib.DPCTLPlatform_GetDevices(platform, DPCTL_ALL);
    const names = Array.from(
      { length: Number(lib.DPCTLDeviceVector_Size(devices)) },
      (_, i) => text(lib.DPCTLDevice_GetName(lib.DPCTLDeviceVector_GetAt(devices, BigInt(i)))),
    );
    return [text(lib.DPCTLPlatform_GetName(platform)), names];
  });
}

Deno.test({
  name: `doctor: SYCL's platforms and devices are those that DPCTL lists${noSycl ? ` (not here: ${noSycl})` : ""}`,
  ignore: noSycl !== undefined,
  async fn() {
    const { library, drivers, devices, targets, edges, findings } = await reportOf("sycl", {
      SAMEPAGE_LIB_SYCL: sycl,
      RUSTICL_ENABLE: Deno.env.get("RUSTICL_ENABLE") ?? "",
    });
    assertMatch(library.version!, /^DPC\+\+ ./);
    assertEquals(findings, []);
    const nameOf = (id: string) => devices.find((device) => device.id === id)!.name;
    const ours = drivers.map(({ name, devices }) => [name, devices.map(nameOf)]);
    assertEquals(ours, listed().filter(([, names]) => names.length > 0));
    for (const { traits } of devices) {
      assertMatch(traits.find(({ label }) => label === "closed")!.text, /dma-bufs.*DPCTL has no function/);
    }
    const [first] = devices.filter(({ aliasing }) => aliasing.length > 0);
    assertEquals(first.aliasing.map(({ aliases }) => aliases), [true, true]);
    const { id } = targets.find(({ device }) => device === first.id)!;
    assert(edges.some(({ edge, from, open }) => edge === "sycl.usm→host" && from === id && open));
  },
});

Deno.test({
  name: `doctor: Level Zero's devices, and what each can share${noLevelZero ? ` (not here: ${noLevelZero})` : ""}`,
  ignore: noLevelZero !== undefined,
  async fn() {
    // A real SYCL looks for Level Zero's drivers too, and crashed with these two.
    const SAMEPAGE_LIB_SYCL = "/nonexistent/libDPCTLSyclInterface.so";
    const env = {
      SAMEPAGE_LIB_SYCL,
      ZE_ENABLE_ALT_DRIVERS: [LIBRARY, ...hasNullDriver() ? [NULL_DRIVER] : []].join(","),
    };
    const { drivers, devices, targets, edges, findings } = await reportOf("levelzero", env);
    assertEquals([findings, drivers.length], [[], hasNullDriver() ? 2 : 1]);
    const own = devices.find(({ name }) => name.includes(DEVICE))!;
    assertEquals(own.aliasing.map(({ aliases }) => aliases), [true, true]);
    const text = (name: string) => own.traits.find(({ label }) => label === name)?.text;
    assertEquals(text("memory"), "shared, host, device");
    assertEquals(text("dma-bufs"), "device memory leaves and comes as a dma-buf");
    const { id } = targets.find(({ device }) => device === own.id)!;
    assert(edges.some(({ edge, from, open }) => edge === "levelzero.usm→host" && from === id && open));
    const none = devices.find(({ name }) => name.includes(NULL_DEVICE));
    if (none === undefined) return;
    const to = targets.find(({ device }) => device === none.id)!.id;
    assertEquals(
      edges.filter((one) => one.edge === "levelzero.usm→host" && one.from === to).map(({ open, transfer }) =>
        open && transfer === "alias"
      ),
      [false],
    );
  },
});

for (const [api, remedy] of [["sycl", /SAMEPAGE_LIB_SYCL/], ["levelzero", /SAMEPAGE_LIB_LEVELZERO/]] as const) {
  Deno.test(`doctor: without ${api} all else is there`, async () => {
    const missing = "/nonexistent/library.so";
    const { library, findings, devices, targets, edges } = await reportOf(
      api,
      { [`SAMEPAGE_LIB_${api.toUpperCase()}`]: missing },
      ["--no-proof"],
    );
    assertEquals([library.opened, devices, targets], [undefined, [], []]);
    assertEquals(library.attempts.map(({ path }) => path), [missing]);
    assertMatch(findings[0].remedy ?? "", remedy);
    assert(edges.length > 0);
  });
}

Deno.test({
  name: "doctor: Level Zero's loader without a driver is a finding that names one",
  ignore: noLevelZero !== undefined,
  async fn() {
    const { library, findings, devices } = await reportOf("levelzero", {
      ZE_ENABLE_ALT_DRIVERS: "/nonexistent/driver.so",
    }, [
      "--no-proof",
    ]);
    assert(library.opened !== undefined);
    assertEquals([devices, findings.map(({ what }) => what)], [[], ["Level Zero has no device."]]);
    assertMatch(findings[0].remedy!, /libze-intel-gpu1/);
  },
});
