/** Runs a command with its output captured; a command that does not exist is `undefined`. */
export async function capture(
  command: string,
  args: readonly string[],
  cwd?: string,
): Promise<{ success: boolean; text: string } | undefined> {
  try {
    const env = { DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };
    const options: Deno.CommandOptions = { args: [...args], env, stdin: "null", ...(cwd === undefined ? {} : { cwd }) };
    const { success, stdout, stderr } = await new Deno.Command(command, options).output();
    const decoder = new TextDecoder();
    return { success, text: decoder.decode(stdout) + decoder.decode(stderr) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Says what is about to be installed, a line each. */
export function announce(title: string, items: readonly { readonly name: string; readonly why: string }[]): void {
  const width = Math.max(...items.map((item) => item.name.length));
  console.error(`setup: ${title}:`);
  for (const item of items) console.error(`  ${item.name.padEnd(width)}  ${item.why}`);
}
