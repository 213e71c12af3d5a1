// The doctor reports what a machine lacks, and what mends it: no library, no driver, no device, one that does not alias.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Report } from "@samepage/interop/doctor";
import { hasDevice } from "../opencl/present.ts";
import { buildLayer, layerEnv } from "../layer/mod.ts";
import { exec } from "../package/project.ts";
import { named } from "../package/readme.ts";
import { runModule } from "../process.ts";
import { printed, reported } from "./run.ts";

const ENV = ["--allow-ffi", "--allow-env"];
const compiler = await exec("cc", ["--version"]).then(({ code }) => code === 0, () => false);
const pocl = hasDevice("Portable") ? undefined : "PoCL";

/** What is closed for want of OpenCL, and how that is mended. */
function assertClosed(report: Report, remedy: string): void {
  assertEquals(report.targets.filter(({ api }) => api === "opencl"), []);
  assertEquals(report.routes.filter(({ from, to, open }) => open && `${from} ${to}`.includes("opencl")), []);
  const edges = report.edges.filter(({ edge }) => edge.includes("opencl") && !/opencv|cuda/.test(edge));
  assert(edges.length >= 2);
  for (const edge of edges) {
    assertEquals(edge.open, false);
    assertMatch(edge.reason ?? "", /^there is no opencl here\.$/);
    assert(edge.remedy?.includes(remedy), edge.remedy);
  }
}

Deno.test("doctor: no library: every attempt, the variable, the remedy", async () => {
  const env = { SAMEPAGE_LIB_OPENCL: "/nonexistent/libOpenCL.so" };
  const report = await reported([], { env, flags: ENV });
  const { library, findings, drivers, devices, variables } = report.apis[1];
  assertEquals([drivers, devices], [[], []]);
  assertEquals(variables.SAMEPAGE_LIB_OPENCL, env.SAMEPAGE_LIB_OPENCL);
  assertEquals([library.variable, library.override], ["SAMEPAGE_LIB_OPENCL", "/nonexistent/libOpenCL.so"]);
  assertEquals(library.attempts.map(({ path }) => path), ["/nonexistent/libOpenCL.so"]);
  assert(library.attempts[0].message.includes("cannot open shared object file"));
  assertEquals(findings.length, 1);
  assertClosed(report, "SAMEPAGE_LIB_OPENCL");
  const text = await printed([], { env, flags: ENV });
  const row = "correct or unset SAMEPAGE_LIB_OPENCL, which names it";
  for (const part of ["/nonexistent/libOpenCL.so", row, "unset that variable", "WHY NOT MORE"]) {
    assert(text.replace(/\s+/g, " ").includes(part), text);
  }
});

Deno.test("doctor: variables that are not text are named, each with what mends it", async () => {
  const wrong = ["SAMEPAGE_LIB_OPENCL", "SAMEPAGE_LIB_OPENCV_CORE", "OCL_ICD_VENDORS", "OPENCV_OPENCL_DEVICE"];
  const doctor = new URL("../../src/doctor/mod.ts", import.meta.url).href;
  const program = `
    import { setEnvironment } from "${new URL("../libc.ts", import.meta.url).href}";
    import { doctor, textOf } from "${doctor}";
    for (const name of ${JSON.stringify(wrong)}) setEnvironment(name, Uint8Array.of(47, 233, 255));
    const report = doctor();
    textOf(report);
    console.log(JSON.stringify(report));`;
  const { stdout, stderr } = await runModule(program, { flags: ENV });
  assertEquals(stderr, "");
  const report: Report = JSON.parse(stdout);
  const [, opencl, , opencv] = report.apis;
  const told = Object.assign({}, ...report.apis.map(({ variables }) => variables));
  for (const name of wrong) assertEquals(told[name], "(not UTF-8 text)", name);
  for (const [{ findings }, name] of [[opencl, wrong[0]], [opencv, wrong[1]]] as const) {
    const [finding] = findings;
    assertEquals([finding.what, finding.remedy], [`${name}: its value is not UTF-8 text.`, "Correct it, or unset it."]);
  }
  assertClosed(report, "Correct it, or unset it.");
});

Deno.test("doctor: a library that is not OpenCL is an attempt that names what it lacks", async () => {
  const report = await reported([], { env: { SAMEPAGE_LIB_OPENCL: "libc.so.6" }, flags: ENV });
  assert(report.apis[1].library.attempts[0].message.includes("symbol"));
  assertClosed(report, "SAMEPAGE_LIB_OPENCL");
});

Deno.test({
  name: named("doctor: a variable that names a device which is not there is named, with those that are", pocl),
  ignore: pocl !== undefined,
  async fn() {
    const env = { SAMEPAGE_OPENCL_DEVICE: "garbage" };
    const { findings, devices } = (await reported([], { env, flags: ENV })).apis[1];
    assert(devices.length > 0);
    const finding = findings.find(({ what }) => what.includes("No OpenCL device fits SAMEPAGE_OPENCL_DEVICE=garbage"));
    assertMatch(finding?.remedy ?? "", /part of a device: there is Portable/);
  },
});

Deno.test({
  name: named("doctor: a loader without a driver: what to install, or which variable to unset", pocl),
  ignore: pocl !== undefined,
  async fn() {
    const env = { OCL_ICD_VENDORS: "/nonexistent" };
    const blind = await reported([], { env });
    assertEquals(blind.apis[1].library.opened, "libOpenCL.so.1");
    assertClosed(blind, "apt install pocl-opencl-icd");
    assertClosed(await reported([], { env, flags: ENV }), "Unset OCL_ICD_VENDORS=/nonexistent");
    assert((await printed([], { env })).includes("pocl-opencl-icd"));
  },
});

Deno.test({
  name: named("doctor: rusticl that was not switched on", hasDevice("rusticl") ? undefined : "rusticl"),
  ignore: !hasDevice("rusticl"),
  async fn() {
    const { drivers, findings } = (await reported(["--no-proof"], { env: { RUSTICL_ENABLE: "" } })).apis[1];
    assertEquals(drivers.find(({ name }) => name === "rusticl")?.devices, []);
    const finding = findings.find(({ what }) => what === "rusticl offers no device.");
    assert(finding?.remedy?.includes("RUSTICL_ENABLE"), JSON.stringify(findings));
  },
});

const layer = pocl ?? (compiler ? undefined : "cc");

Deno.test({
  name: named("doctor: a device that does not alias is said to migrate, and why", layer),
  ignore: layer !== undefined,
  async fn() {
    await buildLayer();
    const env = { ...layerEnv("map"), RUSTICL_ENABLE: "" };
    const report = await reported([], { env, flags: ENV });
    const edge = report.edges.find(({ edge }) => edge === "host→opencl")!;
    assertEquals([edge.open, edge.transfer], [true, "migrate"]);
    assert(edge.evidence?.includes("the CPU did not see what the device wrote"), edge.evidence);
    const [device] = report.apis[1].devices;
    assert(device.traits.some(({ label, text }) => label === "in place" && text.startsWith("not host memory")));
    assert(device.aliasing.some(({ aliases }) => !aliases));
    const text = await printed([], { env, flags: ENV });
    assert(text.includes("migrate") && text.replace(/\s+/g, " ").includes(edge.evidence!), text);
  },
});
