import { assert, assertEquals } from "@std/assert";
import { doctor, type Report, svgOf, textOf } from "@samepage/interop/doctor";
import { ledger } from "@samepage/interop";
import { openclDevices } from "@samepage/interop/opencl";
import { edgeOf } from "../../src/core/graph/mapper.ts";
import { KNOWN_EDGES } from "../../src/doctor/known_edges.ts";
import { ALL, test } from "../opencl/help.ts";

const before = ledger.alive;
const report = doctor();

Deno.test("doctor: a report is plain data, and all that was opened is disposed", () => {
  assertEquals(ledger.alive, before);
  assertEquals(report.findings, []);
  const again: Report = JSON.parse(JSON.stringify(report));
  assertEquals(again, report);
  assertEquals([textOf(again), svgOf(again)], [textOf(report), svgOf(report)]);
});

Deno.test("doctor: the same machine gives the same report", () => {
  const again = doctor();
  assertEquals(again, report);
  assertEquals([textOf(again), svgOf(again)], [textOf(report), svgOf(report)]);
});

Deno.test("doctor: every edge written by hand is asked", () => {
  const { targets, edges } = doctor({ proofs: false });
  const isOnly = (kind: string) => targets.filter((target) => target.kind === kind).length === 1;
  const table = KNOWN_EDGES.filter((
    { from, to },
  ) => from !== to || !isOnly(from));
  const asked = new Set(edges.map(({ edge }) => edge));
  assertEquals(table.map(edgeOf).filter((edge) => !asked.has(edge)), []);
});

test("doctor: an edge for each mapper and pair, a route for each pair", ALL, () => {
  const { targets, edges, routes, apis } = report;
  const devices = openclDevices().length;
  assertEquals(targets.filter(({ kind }) => kind === "opencl").length, devices);
  assertEquals(targets[0], { id: "host", kind: "host", api: "host", device: "host" });
  assertEquals(edges.filter(({ edge }) => edge === "host→opencl").length, devices);
  assertEquals(routes.length, targets.length * (targets.length - 1));
  for (const { from, to, open, transfer, evidence } of edges.filter(({ edge }) => edge === "host→opencl")) {
    assertEquals([from, open, transfer], ["host", true, "alias"], `${from} → ${to}: ${evidence}`);
    assert(evidence!.startsWith("proven by aliasing both ways"), evidence);
  }
  const across = routes.find(({ from, to }) => from === "opencl:0" && to === "opencl:1")!;
  assertEquals([across.open, across.steps.map(({ edge }) => edge)], [true, ["opencl→host", "host→opencl"]]);
  for (const device of apis.flatMap((api) => api.devices).filter(({ id }) => id.startsWith("opencl:"))) {
    assert(device.aliasing.length > 2 && device.aliasing.some(({ aliases }) => aliases), device.name);
    assertEquals(device.findings, []);
  }
});

test("doctor: libraries and drivers are where they were loaded from", ["pocl"], () => {
  const [host, opencl] = doctor({ proofs: false }).apis;
  const maps = Deno.readTextFileSync("/proc/self/maps");
  const loaded = (file: string | undefined) => file !== undefined && maps.includes(Deno.realPathSync(file));
  assert(host.library.version?.startsWith("glibc 2."), host.library.version);
  for (const { file } of [host.library, opencl.library, ...opencl.drivers]) assert(loaded(file), file);
});
