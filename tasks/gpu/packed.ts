import { resolve } from "@std/path";
import { isFile } from "./files.ts";
import type { Job, Variables } from "./job.ts";
import type { Outcome } from "./step.ts";

/** Libraries of a wheel that travel with the kit, because the machine has no others. */
export interface Packed {
  /** The archive's name in the kit. */
  readonly name: string;
  /** The variables by which tests find what was unpacked into a folder. */
  variablesOf(folder: string): Variables;
}

/** Does something with libraries that have travelled here. `lacking` names what else is missing. */
export async function withPacked(
  job: Job,
  { name, variablesOf }: Packed,
  work: (job: Job) => Promise<Outcome>,
  lacking?: string,
): Promise<Outcome> {
  const path = resolve(import.meta.dirname!, "../../.gpu-kit", name);
  if (!await isFile(path) || lacking !== undefined) return { verdict: "not here", counts: lacking ?? path };
  const folder = await Deno.makeTempDir({ prefix: "samepage-libraries-" });
  try {
    const { code, how } = await job.run("tar", ["-C", folder, "-xJf", path], "tests.log");
    if (code !== 0) return { verdict: "red", counts: `tar ended with ${how}` };
    return await work(job.withVariables(variablesOf(folder)));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
