/**
 * What came out, beside what should have.
 *
 * @module
 */

/** Counts the pixels that differ from the host's; any makes the program fail. */
export function verdict(edges: Uint8Array, expected: Uint8Array): string {
  const different = edges.reduce((count, value, i) => count + Number(value !== expected[i]), 0);
  if (different === 0) return `identical to the host's, ${edges.length} pixels`;
  Deno.exitCode = 1;
  return `DIFFERENT from the host's in ${different} of ${edges.length} pixels`;
}
