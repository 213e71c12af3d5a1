/**
 * The lines in which NVIDIA's driver reports errors of a GPU (Xid), from a time on: they say whether the GPU itself ended
 * a context's work. Empty where the kernel's log may not be read.
 *
 * @param since seconds since the machine started
 */
export async function gpuErrors(since: number): Promise<string[]> {
  try {
    const { stdout } = await new Deno.Command("dmesg", { stdout: "piped", stderr: "null" }).output();
    return errorsIn(new TextDecoder().decode(stdout), since);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** The same, of the text of a log. */
export function errorsIn(log: string, since: number): string[] {
  return log.split("\n").filter((line) => {
    const [, seconds] = /^\[\s*([\d.]+)\] NVRM: Xid\b/.exec(line) ?? [];
    return Number(seconds) >= since;
  });
}
