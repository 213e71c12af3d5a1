/** Runs an action, and returns what `console.warn` was given meanwhile. */
export async function warningsOf(action: () => unknown): Promise<string[]> {
  const { warn } = console;
  const warnings: string[] = [];
  console.warn = (...words: unknown[]) => void warnings.push(words.join(" "));
  try {
    await action();
  } finally {
    console.warn = warn;
  }
  return warnings;
}
