import { noCuda } from "./cuda.ts";
import { hasDevice } from "./device.ts";
import type { Goal } from "./goal.ts";
import type { Way } from "./way.ts";

/** One thing that is measured, in several ways. */
export interface Figure {
  /** A name for `--only=`. */
  readonly id: string;
  /** What one operation is, in a few words. */
  readonly title: string;
  /** The first is the reference; the second is the one that the goal is about. */
  readonly ways: readonly Way[];
  /** What the second is to reach. */
  readonly goal?: Goal;
  /** Whose device it needs; OpenCL's by default. */
  readonly on?: "opencl" | "cuda";
  /** True where this process lacks what else its own ways need: for `deno bench`. */
  readonly ignore?: boolean;
}

/** What has been declared so far. */
export const figures: Figure[] = [];

/**
 * Declares a figure: for `deno task bench`, which measures all of its ways in turn, and for `deno bench`, which measures
 * those of this process one by one.
 */
export function figure(figure: Figure): void {
  figures.push(figure);
  const isThere = figure.on === "cuda" ? noCuda() === undefined : hasDevice();
  for (const { name, operation } of figure.ways) {
    if (operation === undefined) continue;
    Deno.bench({
      name: `${figure.title}: ${name}`,
      group: figure.id,
      ignore: !isThere || figure.ignore === true,
      fn: async (b) => {
        const op = operation();
        op.prepare?.();
        b.start();
        await op.run(1);
        b.end();
        op.settle?.();
      },
    });
  }
}
