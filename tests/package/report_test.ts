import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { readJUnit } from "../../tasks/report.ts";
import { inLanes, inSecondRuns, type Job } from "../../tasks/test/job.ts";
import { exec, temporaryFolder } from "./project.ts";

Deno.test("readJUnit counts tests and steps as deno test itself does, whatever their names", async () => {
  await using folder = await temporaryFolder();
  const [file, xml] = [join(folder.path, "a_test.ts"), join(folder.path, "report.xml")];
  await Deno.writeTextFile(
    file,
    `Deno.test("passes", () => {});
     Deno.test({ name: 'ignored: <a> & "b"', ignore: true, fn() {} });
     Deno.test("fails", () => { throw new Error("<skipped/> ]]> </testcase>"); });
     Deno.test("steps", async (t) => {
       await t.step("one", () => {});
       await t.step({ name: "two", ignore: true, fn() {} });
     });`,
  );
  await exec(Deno.execPath(), ["test", "--no-config", "--no-check", `--junit-path=${xml}`, file]);
  assertEquals(readJUnit(await Deno.readTextFile(xml)), {
    passed: ["passes", "steps", "steps > one"],
    failed: ["fails: Uncaught Error: <skipped/> ]]> </testcase>"],
    skipped: ['ignored: <a> & "b"', "steps > two"],
  });
});

Deno.test("readJUnit of an empty file, which a crash leaves, counts nothing", () => {
  assertEquals(readJUnit(""), { passed: [], failed: [], skipped: [] });
});

Deno.test("inSecondRuns() calls what passes alone unsteady, and what fails again failed", async () => {
  await using folder = await temporaryFolder();
  const jobOf = async (name: string, text: string): Promise<Job> => {
    const file = join(folder.path, `${name}_test.ts`);
    await Deno.writeTextFile(file, text);
    return { name, args: ["--no-config", "--no-lock", file], wanted: () => true };
  };
  const mark = join(folder.path, "mark");
  const once = `Deno.test("fails once", () => { Deno.mkdirSync(${JSON.stringify(mark)}); throw new Error("first"); });`;
  const jobs = [
    await jobOf("good", `Deno.test("passes", () => {});`),
    await jobOf(
      "unsteady",
      `try { Deno.statSync(${JSON.stringify(mark)}); Deno.test("fails once", () => {}); } catch { ${once} }`,
    ),
    await jobOf("bad", `Deno.test("fails", () => { throw new Error("always"); });`),
  ];
  const first = await inLanes(jobs, 2);
  const runs = (await inSecondRuns(jobs, first)).sort((a, b) => a.name < b.name ? -1 : 1);
  assertEquals(runs.map(({ name, failed, unsteady = [] }) => [name, failed, unsteady]), [
    ["bad", ["fails: Uncaught Error: always"], []],
    ["good", [], []],
    ["unsteady", [], ["fails once: Uncaught Error: first"]],
  ]);
});
