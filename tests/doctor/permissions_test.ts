// The doctor reports with any permissions, and says what it could see with more.

import { assert, assertEquals } from "@std/assert";
import { hasDevice } from "../opencl/present.ts";
import { named } from "../package/readme.ts";
import { noSmallDisk, onSmallDisk } from "../full_disk.ts";
import { exec } from "../package/project.ts";
import { CONFIG, MAIN, printed, reported, runDoctor } from "./run.ts";
import type { Report } from "@samepage/interop/doctor";

const missing = hasDevice("Portable") ? undefined : "PoCL";

function flags(report: Report, granted: boolean): string[] {
  return report.permissions.filter((it) => it.granted === granted).map(({ flag }) => flag.split("=")[0]);
}

Deno.test({
  name: named("doctor: --allow-ffi is enough for libraries, devices and edges", missing),
  ignore: missing !== undefined,
  async fn() {
    const report = await reported();
    assertEquals(flags(report, true), ["--allow-ffi"]);
    assertEquals(flags(report, false), ["--allow-env", "--allow-read", "--allow-run", "--allow-sys", "--allow-all"]);
    const [host, opencl, opencv] = report.apis;
    const loaded = [opencv.library, ...opencv.modules].filter(({ opened }) => opened !== undefined);
    for (const { file } of [host.library, opencl.library, ...opencl.drivers, ...loaded]) {
      assert(file?.startsWith("/"), file);
    }
    assertEquals([host.variables, opencl.variables, opencv.variables, host.library.package], [{}, {}, {}, undefined]);
    assertEquals(report.versions.kernel, undefined);
    assert(report.edges.some(({ edge, transfer }) => edge === "host→opencl" && transfer === "alias"));
    const text = (await printed(["--no-proof"])).replace(/\s+/g, ""); // lines end where they are full
    for (const { flag, shows } of report.permissions.filter((it) => !it.granted)) {
      assert(text.includes(flag) && text.includes(shows.replace(/\s+/g, "")), flag);
      const names = `${flag} ${shows}`.match(/[A-Z_]{4,}|\/[\w/.]+/g) ?? [];
      assertEquals(names, [...new Set(names)]); // each once
    }
  },
});

Deno.test({
  name: named("doctor: with more permission it sees variables, packages and the kernel", missing),
  ignore: missing !== undefined,
  async fn() {
    const report = await reported(["--no-proof"], { flags: ["-A"] });
    assertEquals(flags(report, false), []);
    const opencl = report.apis[1];
    assertEquals(opencl.variables.RUSTICL_ENABLE, "llvmpipe");
    assertEquals(report.versions.kernel, Deno.osRelease());
    assert(!(await printed(["--no-proof"], { flags: ["-A"] })).includes("MORE COULD BE SEEN"));
    const dpkg = await new Deno.Command("dpkg-query", { args: ["--version"] }).output().catch(() => undefined);
    if (dpkg !== undefined) assert(opencl.drivers.every((it) => it.package), JSON.stringify(opencl.drivers));
  },
});

Deno.test("doctor: with no permission at all it says which flag to pass", async () => {
  const report = await reported([], { flags: [] });
  assertEquals([report.targets, report.routes, flags(report, true)], [[], [], []]);
  for (const { findings, library } of report.apis) {
    assertEquals(library.opened, undefined);
    assert(findings[0].remedy?.includes("--allow-ffi"), JSON.stringify(findings));
  }
  for (const { open, remedy } of report.edges) assertEquals([open, remedy?.includes("--allow-ffi")], [false, true]);
  const text = await printed([], { flags: [] });
  assert(text.includes("--allow-ffi"), text);
});

Deno.test("doctor: the command says what it does not know, and cannot write", async () => {
  const unknown = await runDoctor(["--jason"]);
  assertEquals([unknown.code, unknown.stdout], [2, ""]);
  assert(unknown.stderr.includes("--jason") && unknown.stderr.includes("--json"), unknown.stderr);
  const help = await printed(["--help"], { flags: [] });
  assert(help.includes("--svg"), help);
  const svg = await runDoctor(["--no-proof", "--svg=/tmp/samepage-doctor.svg"]);
  assertEquals([svg.code, svg.stdout], [1, ""]);
  assert(svg.stderr.includes("--allow-write"), svg.stderr);
});

Deno.test("doctor: --svg writes the picture, or prints it", async () => {
  const path = await Deno.makeTempFile({ suffix: ".svg" });
  try {
    assertEquals(await printed(["--no-proof", `--svg=${path}`], { flags: ["--allow-ffi", "--allow-write"] }), "");
    assertEquals(await Deno.readTextFile(path), (await printed(["--no-proof", "--svg"])).trimEnd() + "\n");
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("doctor: --svg does not wait for a FIFO", async () => {
  const folder = await Deno.makeTempDir();
  const fifo = `${folder}/fifo`;
  await exec("mkfifo", [fifo]);
  const run = ["run", "-A", "--no-check", "--config", CONFIG, MAIN, "--no-proof", `--svg=${fifo}`];
  const { code, stdout, stderr } = await exec("timeout", ["--kill-after=1", "60", Deno.execPath(), ...run]);
  assertEquals(
    [code, stdout, stderr],
    [1, "", `${fifo} could not be written: it is not a regular file\n`],
    "124: it waited",
  );
  await Deno.remove(folder, { recursive: true });
});

Deno.test({
  name: named("doctor: --svg leaves an old picture as it was where the disk is full", noSmallDisk),
  ignore: noSmallDisk !== undefined,
  fn: () =>
    onSmallDisk(4096, async (folder) => {
      const path = `${folder}/graph.svg`;
      await Deno.writeTextFile(path, "old");
      const { code, stderr } = await runDoctor(["--no-proof", `--svg=${path}`], { flags: ["-A"] });
      assertEquals(code, 1);
      assert(/graph\.svg could not be written: No space left .*; the file is as it was\n$/.test(stderr), stderr);
      assertEquals(await Deno.readTextFile(path), "old");
    }),
});
