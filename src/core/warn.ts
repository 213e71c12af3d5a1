/** Reports what no caller waits for: a forgotten dispose, a view that escaped, a failure in a finalizer. */
export function warn(message: string): void {
  console.warn(`samepage: ${message}`);
}
