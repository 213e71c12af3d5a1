// What is wrong with the machine's files, as far as the doctor may look: GPUs that cannot be opened, drivers that are
// named and were not loaded.

import { assert, assertEquals } from "@std/assert";
import { installedDrivers } from "../../src/doctor/opencl/remedies.ts";
import { examineRenderNodes } from "../../src/doctor/host/render_nodes.ts";
import type { Finding } from "../../src/doctor/report.ts";
import { temporaryFolder } from "../package/project.ts";

Deno.test("doctor: a GPU that this user cannot open: the group that can", async () => {
  await using folder = await temporaryFolder();
  const { path } = folder;
  const findings: Finding[] = [];
  assertEquals(examineRenderNodes(findings, `${path}/nothing`)?.startsWith("no "), true);
  await Deno.writeTextFile(`${path}/renderD128`, "");
  await Deno.mkdir(`${path}/renderD129`); // no one, root neither, opens a folder for writing
  await Deno.writeTextFile(`${path}/card0`, "");
  assertEquals(examineRenderNodes(findings, path), `${path}/renderD128 open, ${path}/renderD129 closed`);
  assertEquals(findings.length, 1);
  assertEquals(findings[0].what, `${path}/renderD129 cannot be opened by this user.`);
  assert(findings[0].remedy?.includes("render"));
});

Deno.test("doctor: a driver that is installed and was not loaded is a finding", async () => {
  // Where a variable names other drivers, none of the folder is missed.
  for (const name of ["OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"]) Deno.env.delete(name);
  await using folder = await temporaryFolder();
  const { path } = folder;
  await Deno.writeTextFile(`${path}/here.icd`, "libhere.so.1\n");
  await Deno.writeTextFile(`${path}/absent.icd`, "/opt/absent/libabsent.so");
  await Deno.writeTextFile(`${path}/README`, "not a driver");
  const driver = { name: "Here", file: "/usr/lib/libhere.so.1", facts: [], devices: [] };
  const found = installedDrivers([driver], path).map(({ what }) => what);
  assertEquals(found, [`${path}/absent.icd names /opt/absent/libabsent.so, which the loader did not take.`]);
  const { file: _, ...unknown } = driver;
  assertEquals(installedDrivers([unknown], path), [], "where a driver's file is not known, none is missed");
  assertEquals(installedDrivers([driver], `${path}/nothing`), []);
});
