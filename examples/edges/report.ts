/**
 * Times, and the lines that the demo prints.
 *
 * @module
 */

/** The times of the steps of one or more runs, in milliseconds. */
export class Times {
  /** The names of the steps, in the order in which they came. */
  get steps(): string[] {
    return [...this.#steps.keys()];
  }

  /** How long a whole run took, in the middle. */
  get total(): number {
    return median(this.#totals);
  }

  readonly #steps = new Map<string, number[]>();
  readonly #totals: number[] = [];

  /** Measures one run, which calls `lap` at the end of each step. */
  measure<R>(run: (lap: (step: string) => void) => R): R {
    const start = performance.now();
    let last = start;
    const result = run((step) => {
      const now = performance.now();
      this.#steps.set(step, [...this.#steps.get(step) ?? [], now - last]);
      last = now;
    });
    this.#totals.push(performance.now() - start);
    return result;
  }

  /** How long a step took, in the middle of all runs. */
  of(step: string): number {
    return median(this.#steps.get(step) ?? []);
  }
}

/** Prints a line under its heading; further lines of the same heading are indented. */
export function print(heading: string, ...lines: string[]): void {
  lines.forEach((line, i) => console.log(`${(i === 0 ? heading : "").padEnd(9)}${line}`));
}

/** A table of times in milliseconds: a row a step, a column for each way of doing it. */
export function tableOf(ways: Readonly<Record<string, Times>>): string[] {
  const columns = Object.values(ways);
  const row = (name: string, cells: string[]) => name.padEnd(16) + cells.map((cell) => cell.padStart(14)).join("");
  return [
    row("", Object.keys(ways)),
    ...columns[0].steps.map((step) => row(step, columns.map((times) => milliseconds(times.of(step))))),
    row("all", columns.map((times) => milliseconds(times.total))),
  ];
}

/** `12.34 ms`. */
export function milliseconds(time: number): string {
  return `${time.toFixed(2)} ms`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}
