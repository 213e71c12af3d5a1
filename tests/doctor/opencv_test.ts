// What the doctor says of OpenCV: its version and modules, its exceptions, its own OpenCL device, its edges; and of what
// it lacks.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { doctor, type EdgeReport, type Report } from "@samepage/interop/doctor";
import { OpenCLExecutionContext } from "../../ffi/opencv_core/structs.ts";
import { core } from "../../src/opencv/library.ts";
import { viewAt } from "../../src/opencv/memory.ts";
import { cudaTrait, guardTrait } from "../../src/doctor/opencv/mod.ts";
import { present, testMat, testUMat } from "../opencv/help.ts";
import { exec, temporaryFolder } from "../package/project.ts";
import { named } from "../package/readme.ts";
import { printed, reported, runDoctor } from "./run.ts";

const ENV = ["--allow-ffi", "--allow-env"];
const QUICK = ["--no-proof"];
const compiler = await exec("g++", ["--version"]).then(({ code }) => code === 0, () => false);

function openCVOf({ apis }: Report) {
  return apis.find(({ api }) => api === "opencv")!;
}

/** What is said of OpenCV and OpenCL. */
function openCLTrait(report: Report): string {
  return openCVOf(report).devices[0].traits.find(({ label }) => label === "OpenCL")!.text;
}

function edgesOf({ edges }: Report, ...names: readonly string[]): readonly EdgeReport[] {
  return edges.filter(({ edge }) => names.includes(edge));
}

function assertAllClosed(edges: readonly EdgeReport[], reason: RegExp, remedy: RegExp): void {
  assert(edges.length > 0);
  for (const edge of edges) {
    assertEquals(edge.open, false, JSON.stringify(edge));
    assertMatch(edge.reason!, reason);
    assertMatch(edge.remedy!, remedy);
  }
}

testMat("doctor: OpenCV's own count of CUDA devices", async () => {
  const report = await doctor({ proofs: false });
  const { traits } = openCVOf(report).devices[0];
  // Debian builds it without CUDA.
  assertEquals(traits.find(({ label }) => label === "CUDA"), cudaTrait(core().cuda_getCudaEnabledDeviceCount()));
  assertMatch(cudaTrait(0).text, /^no cv::cuda: .* built without CUDA/);
  assertMatch(cudaTrait(-1).text, /^no cv::cuda: .* no driver/);
  assertMatch(cudaTrait(1).text, /^cv::cuda has 1 device;/);
  assertMatch(cudaTrait(2).text, /^cv::cuda has 2 devices;/);
});

testMat("doctor: OpenCV's version is the one that the system has installed", async () => {
  const { library } = openCVOf(await reported(QUICK));
  assertMatch(library.version!, /^OpenCV \d+\.\d+\.\d+$/);
  const versions = await Promise.all([
    exec("pkg-config", ["--modversion", "opencv4"]).catch(() => undefined),
    exec("dpkg-query", ["-W", "-f", "${Version}", "libopencv-core406"]).catch(() => undefined),
  ]);
  for (const answer of versions.filter((it) => it?.code === 0)) {
    assertEquals(library.version, `OpenCV ${answer!.stdout.trim().replace(/[+-].*/, "")}`);
  }
});

testMat("doctor: each module is where it was loaded from, and its exceptions are guarded", () => {
  const { library, modules } = openCVOf(doctor({ proofs: false }));
  const maps = Deno.readTextFileSync("/proc/self/maps");
  assertEquals(modules.map(({ name }) => name), ["imgproc", "imgcodecs"]);
  for (const { file, guard, attempts } of [library, ...modules].filter(({ opened }) => opened !== undefined)) {
    assert(maps.includes(Deno.realPathSync(file!)), file);
    assertEquals([guard?.guarded, attempts], [Deno.build.arch === "x86_64", []]);
  }
});

Deno.test("doctor: what is not guarded is named, with the reason", () => {
  const module = { variable: "", attempts: [], facts: [] };
  const reason = "The guard is machine code for Linux on x86-64, and this is linux on aarch64.";
  const { text } = guardTrait([
    { ...module, name: "core", guard: { guarded: false, reason } },
    { ...module, name: "imgproc", guard: { guarded: true } },
    { ...module, name: "imgcodecs" },
  ]);
  const caught = "of imgproc are caught: each is a typed error";
  assertEquals(text, `${caught}; of core are not caught: each ends the process. ${reason}`);
});

testMat("doctor: host memory is a Mat, and a Mat is host memory, at the same address", () => {
  for (const edge of edgesOf(doctor({ proofs: false }), "host→opencv.mat", "opencv.mat→host")) {
    assertEquals([edge.open, edge.transfer], [true, "alias"]);
    assert(edge.evidence?.startsWith("the same address"), edge.evidence);
  }
});

testUMat("doctor: a UMat is open to each OpenCL device whose buffer it may be, without proofs too", async () => {
  for (const args of [[], QUICK]) {
    const report = await reported(args);
    const devices = report.targets.filter(({ kind }) => kind === "opencl").map(({ id }) => id);
    const [there, back] = ["opencl→opencv.umat", "opencv.umat→opencl"].map((name) => edgesOf(report, name));
    assertEquals([there.map(({ from }) => from), back.map(({ to }) => to)], [devices, devices]);
    for (const edge of [...there, ...back]) assertEquals([edge.open, edge.transfer], [true, "alias"], edge.reason);
    const composed = report.routes.find(({ from, to }) => from === "opencv.umat" && to === "opencv.mat")!;
    assertEquals(composed.steps.map(({ edge }) => edge), ["opencv.umat→opencl", "opencl→host", "host→opencv.mat"]);
  }
});

testUMat("doctor: OpenCV's own device: what the variable names, or none and how to get one", async () => {
  const pocl = await reported([], { env: { OPENCV_OPENCL_DEVICE: "Portable Computing Language:CPU:" } });
  const id = pocl.apis.find(({ api }) => api === "opencl")!
    .drivers.find(({ name }) => name.startsWith("Portable"))!.devices[0];
  assertEquals(openCVOf(pocl).devices[0].facts, [{ name: "cv::ocl::Device::getDefault", value: id }]);
  assert(openCLTrait(pocl).startsWith(`${id} is its own device`));

  const disabled = await reported([], { env: { OPENCV_OPENCL_DEVICE: "disabled" }, flags: ENV });
  assertEquals(openCVOf(disabled).devices[0].facts, [{ name: "cv::ocl::Device::getDefault", value: "none" }]);
  assertMatch(
    openCLTrait(disabled),
    /^no device of its own: OPENCV_OPENCL_DEVICE=disabled says so\. OPENCV_OPENCL_DEVICE=:CPU: /,
  );

  assertMatch(openCLTrait(await reported(QUICK)), /--no-proof/);
});

testUMat("doctor: a device that OpenCV does not find is said so, and ends nothing", async () => {
  const { code, stdout } = await runDoctor(["--json"], { env: { OPENCV_OPENCL_DEVICE: ":ACCELERATOR:" }, flags: ENV });
  assertEquals(code, 0); // OpenCV says it too, on standard error
  assertMatch(openCLTrait(JSON.parse(stdout)), /OPENCV_OPENCL_DEVICE=:ACCELERATOR: fits no device that is here/);
});

testUMat("doctor: OpenCV's OpenCL state of this thread is left as it was", () => {
  const state = () => {
    const { buffer } = viewAt(core().OpenCLExecutionContext_getCurrentRef(), OpenCLExecutionContext.size + 8);
    return [...new BigUint64Array(buffer as ArrayBuffer)];
  };
  const before = state();
  assertEquals(doctor().findings, []);
  assertEquals(state(), before);
});

testUMat("doctor: OpenCV that may use no OpenCL: Mats stay open, UMats say what to unset", async () => {
  const env = { OPENCV_OPENCL_RUNTIME: "disabled" };
  const report = await reported([], { env, flags: ENV });
  const [reason, remedy] = [/^OpenCV has no OpenCL here/, /^Unset OPENCV_OPENCL_RUNTIME=disabled\.$/];
  assertAllClosed(edgesOf(report, "opencl→opencv.umat", "opencv.umat→opencl"), reason, remedy);
  assertEquals(edgesOf(report, "host→opencv.mat").map(({ open }) => open), [true]);
  assertMatch(openCVOf(report).findings[0].remedy!, remedy);
  assertMatch(openCVOf(await reported(QUICK, { env })).findings[0].remedy!, /is OPENCV_OPENCL_RUNTIME set\?$/);
  assert((await printed(QUICK, { env, flags: ENV })).includes("Unset OPENCV_OPENCL_RUNTIME=disabled."));
});

testMat("doctor: without OpenCL OpenCV has its Mats, and UMats say what OpenCL lacks", async () => {
  const report = await reported([], { env: { SAMEPAGE_LIB_OPENCL: "/nonexistent" }, flags: ENV });
  assertEquals(edgesOf(report, "host→opencv.mat", "opencv.mat→host").map(({ open }) => open), [true, true]);
  const umat = edgesOf(report, "opencl→opencv.umat", "opencv.umat→opencl");
  assertAllClosed(umat, /^there is no opencl here\.$/, /SAMEPAGE_LIB_OPENCL/);
});

Deno.test("doctor: no OpenCV: every attempt, the variable, the remedy", async () => {
  const env = { SAMEPAGE_LIB_OPENCV_CORE: "/nonexistent/libopencv_core.so" };
  const report = await reported(QUICK, { env, flags: ENV });
  const { library, devices, variables } = openCVOf(report);
  assertEquals([devices, variables], [[], env]);
  assertEquals([library.opened, library.variable], [undefined, "SAMEPAGE_LIB_OPENCV_CORE"]);
  assertEquals(library.attempts.map(({ path }) => path), [env.SAMEPAGE_LIB_OPENCV_CORE]);
  assertEquals(report.targets.filter(({ api }) => api === "opencv"), []);
  const edges = report.edges.filter(({ edge }) => edge.includes("opencv"));
  const [mats, umats] = [false, true].map((umat) => edges.filter(({ edge }) => edge.includes("opencl") === umat));
  assertAllClosed(mats, /^there is no opencv here\.$/, /SAMEPAGE_LIB_OPENCV_CORE/);
  // Where OpenCL is missing too, that comes first, and its remedy.
  assertAllClosed(umats, /^there is no (opencl, no )?opencv here\.$/, /./);
  const text = await printed(QUICK, { env, flags: ENV });
  assert(text.includes("/nonexistent/libopencv_core.so") && text.includes("unset that variable"), text);
});

testMat("doctor: a module that is missing keeps nothing else from being open", async () => {
  const env = { SAMEPAGE_LIB_OPENCV_IMGPROC: "/nonexistent/libopencv_imgproc.so" };
  const report = await reported(QUICK, { env, flags: ENV });
  const { modules: [imgproc], findings, devices } = openCVOf(report);
  assertEquals([imgproc.opened, imgproc.guard, imgproc.attempts.length], [undefined, undefined, 1]);
  assert(findings.some(({ remedy }) => remedy?.includes("SAMEPAGE_LIB_OPENCV_IMGPROC")), JSON.stringify(findings));
  assert(!devices[0].traits[0].text.includes("imgproc"));
  assertEquals(edgesOf(report, "host→opencv.mat").map(({ open }) => open), [true]);
});

const missing = !present ? "OpenCV" : compiler ? undefined : "g++";

Deno.test({
  name: named("doctor: a version that is not known is refused by its number, and named", missing),
  ignore: missing !== undefined,
  async fn() {
    await using folder = await temporaryFolder();
    const library = `${folder.path}/libopencv_core.so`;
    await Deno.writeTextFile(`${folder.path}/version.cpp`, "namespace cv { int getVersionMinor() { return 99; } }");
    // It has all of the other functions from the true one, which it needs.
    const needs = ["-Wl,--no-as-needed", "-l:libopencv_core.so.406"];
    const made = await exec("g++", ["-shared", "-fPIC", "-o", library, `${folder.path}/version.cpp`, ...needs]);
    assertEquals([made.code, made.stderr], [0, ""]);
    const report = await reported(QUICK, { env: { SAMEPAGE_LIB_OPENCV_CORE: library }, flags: ENV });
    const { library: { version }, devices, findings } = openCVOf(report);
    assertEquals(devices, []);
    assertMatch(version!, /^OpenCV 4\.99\.\d+$/);
    assertMatch(findings[0].what, /^OpenCV 4\.99\.\d+ is not known here/);
    assertAllClosed(edgesOf(report, "host→opencv.mat"), /no opencv here/, /apt install libopencv-core406/);
  },
});
