import { noCuda } from "./cuda.ts";
import { hasDevice } from "./device.ts";
import { sharedGpus } from "./gpus.ts";
import type { Goal } from "./goal.ts";
import type { Way } from "./way.ts";

/** What a bench is about: OpenCL and all that needs no GPU; CUDA; or what Vulkan shares with both. */
export type Topic = "opencl" | "cuda" | "vulkan";

/** Why the devices of a topic are not here; undefined where they are. */
export function lackingFor(topic: Topic): string | undefined {
  if (topic === "cuda") return noCuda();
  if (topic === "vulkan") return sharedGpus().missing;
  return hasDevice() ? undefined : "OpenCL has no device here. Install one: apt install pocl-opencl-icd";
}

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
  /** True where it is also about how long processors work, all threads together: for operations of a second or more. */
  readonly cpu?: boolean;
  /** Whose device it needs; OpenCL's by default. */
  readonly on?: Topic;
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
  const isThere = lackingFor(figure.on ?? "opencl") === undefined;
  for (const { name, operation, lacks } of figure.ways) {
    if (operation === undefined) continue;
    Deno.bench({
      name: `${figure.title}: ${name}${lacks === undefined ? "" : ` (not here: ${lacks})`}`,
      group: figure.id,
      baseline: name === figure.ways[0].name,
      ignore: !isThere || figure.ignore === true || lacks !== undefined,
      fn: async (b) => {
        const op = await operation();
        op.prepare?.();
        b.start();
        await op.run(1);
        b.end();
        op.settle?.();
      },
    });
  }
}
