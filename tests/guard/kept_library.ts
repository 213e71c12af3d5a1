/**
 * Libraries that tests compile, kept from one run to the next.
 *
 * @module
 */

/** A process that was killed leaves its unfinished file behind. None takes so long, in milliseconds. */
const ABANDONED_MS = 600_000;

/**
 * The library of this key in a folder: made once, and written by rename. Its name holds the key and the hash of its bytes,
 * so one that has changed since is made anew.
 */
export async function keptLibrary(folder: string, key: string, make: (path: string) => Promise<void>): Promise<string> {
  await Deno.mkdir(folder, { recursive: true });
  for await (const { name } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (name.startsWith(`${key}-`) && name === await nameOf(key, path)) return path;
    if (name.startsWith("unfinished-")) await removeAbandoned(path);
  }
  const unfinished = await Deno.makeTempFile({ dir: folder, prefix: "unfinished-" });
  try {
    await make(unfinished);
    const path = `${folder}/${await nameOf(key, unfinished)}`;
    await Deno.rename(unfinished, path);
    return path;
  } catch (error) {
    await Deno.remove(unfinished);
    throw error;
  }
}

/** The hash of a text or of bytes, in hexadecimal digits. */
export async function hashOf(content: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

async function nameOf(key: string, path: string): Promise<string> {
  return `${key}-${await hashOf(await Deno.readFile(path))}.so`;
}

/** Another process may have removed it, or renamed it to its final name. */
async function removeAbandoned(path: string): Promise<void> {
  try {
    const { mtime } = await Deno.stat(path);
    if (Date.now() - mtime!.getTime() > ABANDONED_MS) await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
