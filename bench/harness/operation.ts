/** One thing that is measured in this process. The C programs have the same (c/serve.h). */
export interface Operation {
  /** Before each run, outside of the clock. */
  prepare?(): void;
  /** `count` operations in a row: what the clock is about. */
  run(count: number): void | Promise<void>;
  /** After each run, outside of the clock. */
  settle?(): void;
  /** What the last run took, in nanoseconds, where that is not the time on the clock. */
  spent?(): number;
  /** Operations of one run at most; any number by default. */
  readonly most?: number;
}

/** Runs `count` operations, and returns the nanoseconds that they took. */
export async function measure(operation: Operation, count: number): Promise<number> {
  let spent = 0;
  for (let left = count; left > 0;) {
    const n = Math.min(left, operation.most ?? left);
    operation.prepare?.();
    const start = performance.now();
    const done = operation.run(n);
    if (done !== undefined) await done;
    spent += operation.spent === undefined ? 1e6 * (performance.now() - start) : operation.spent();
    operation.settle?.();
    left -= n;
  }
  return spent;
}
