import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { readJUnit } from "../../tasks/report.ts";
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
