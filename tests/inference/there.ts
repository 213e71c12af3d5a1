/** A file, unless it is known to be missing: not every program of the tests may ask. */
export function ifThere(path: string): string | undefined {
  try {
    Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
  }
  return path;
}
