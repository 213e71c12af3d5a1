// Everything that must hold besides the tests. All steps run; the output of a step is shown when it failed.

import { globSync } from "node:fs";
import config from "../deno.json" with { type: "json" };

const GUIDES = globSync(["*.md", "docs/**/*.md"], { cwd: `${import.meta.dirname}/..` }).sort();
const ENTRY_POINTS = Object.values(config.exports);

const STEPS: Readonly<Record<string, readonly string[]>> = {
  "format": ["fmt", "--check"],
  "lint": ["lint"],
  "types": ["check", "--doc", ".", ...GUIDES], // a folder stands for its code alone
  "documentation": ["doc", "--lint", ...ENTRY_POINTS],
  "generated files": ["task", "ffi", "--check"],
  "publish dry run": ["publish", "--dry-run", "--allow-dirty", "--no-check"], // "types" has checked them
};

const decoder = new TextDecoder();
let failed = false;
for (const [name, args] of Object.entries(STEPS)) {
  const start = performance.now();
  const command = new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: `${import.meta.dirname}/..`,
    stdin: "null",
  });
  const { success, stdout, stderr } = await command.output();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${success ? "ok    " : "FAILED"}  ${name} (${seconds} s): deno ${args.join(" ")}`);
  if (success) continue;
  failed = true;
  console.log(decoder.decode(stdout) + decoder.decode(stderr));
}
Deno.exit(failed ? 1 : 0);
