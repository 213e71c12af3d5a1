import { NoRouteError, type Refusal } from "../errors.ts";

/**
 * What a step does with the bytes: `"alias"` (the same bytes, proven), `"migrate"` (the driver moves them behind the
 * scenes), `"copy"` (we move them, because it was asked for).
 */
export type Transfer = "alias" | "migrate" | "copy";

/** One edge of a route, as it was planned and taken. */
export interface Step {
  /** The edge: `"host→opencl"`. */
  readonly edge: string;
  /** What it does with the bytes. */
  readonly transfer: Transfer;
  /** True where the host has to wait for work in flight before this step. */
  readonly hostWait: boolean;
  /** Bytes that are moved by this step's map and unmap together; 0 for an alias. */
  readonly bytesMoved: number;
  /** How the transfer is known: `"proven by aliasing, address % 4096 = 0"`. */
  readonly evidence?: string | undefined;
}

/** How one tensor was, or would be, mapped to a target. Printing it gives a line a step. */
export class Route {
  /** From source to target; empty for memory that is mapped from nothing, and for a map to its own target. */
  readonly steps: readonly Step[];
  /** What was asked on the way and refused. */
  readonly refused: readonly Refusal[];
  /** False where no way leads there. */
  readonly open: boolean;

  /** A route that was found, unless `open` says otherwise. */
  constructor(steps: readonly Step[], refused: readonly Refusal[], open: boolean = true) {
    this.steps = steps;
    this.refused = refused;
    this.open = open;
  }

  /** Bytes moved by all steps together. */
  get bytesMoved(): number {
    return this.steps.reduce((sum, step) => sum + step.bytesMoved, 0);
  }

  /** A line a step, then a line a refusal. */
  toString(): string {
    const steps = this.open ? this.steps.map(describeStep) : ["no route"];
    return [...steps, ...this.refused.map(describeRefusal)].join("\n");
  }

  /** What `console.log` shows. */
  [Symbol.for("Deno.customInspect")](): string {
    return this.toString();
  }
}

/** The route of memory that was mapped from nothing. */
export const ORIGIN: Route = new Route([], []);

/** `host→opencl: alias (proven …)`. */
function describeStep(step: Step): string {
  const moved = step.bytesMoved > 0 ? `, ${step.bytesMoved} bytes moved` : "";
  const waits = step.hostWait ? ", the host waits first" : "";
  const evidence = step.evidence === undefined ? "" : ` (${step.evidence})`;
  return `${step.edge}: ${step.transfer}${moved}${waits}${evidence}`;
}

/** `host→opencl: closed: why. What would open it.` */
export function describeRefusal(refusal: Refusal): string {
  return `${refusal.edge}: closed: ${refusal.reason}${refusal.remedy === undefined ? "" : ` ${refusal.remedy}`}`;
}

/** Edges that are closed for the same reason, as one. */
function together(refused: readonly Refusal[]): Refusal[] {
  const byReason = Map.groupBy(refused, ({ reason, remedy }) => `${reason}|${remedy}`);
  return Array.from(byReason.values(), (each) => ({ ...each[0], edge: each.map(({ edge }) => edge).join(" and ") }));
}

/**
 * The error of a map that nothing leads along: what was asked, and why each refused.
 *
 * @param ways the kinds of memory from which there are edges, for where nobody was asked
 */
export function noRoute(
  from: string,
  to: string,
  refused: readonly Refusal[],
  ways: readonly string[] = [],
): NoRouteError {
  const message = `No route from ${from} to ${to}:`;
  const fields = { api: "core", argument: "target" };
  if (refused.length > 0) {
    return new NoRouteError(`${message} ${together(refused).map(describeRefusal).join(" ")}`, refused, fields);
  }
  if (ways.length === 0) {
    const hint = "Memory of that kind is allocated there, and mapped from there: or map to another target.";
    return new NoRouteError(`${message} no edge leads there.`, refused, { ...fields, hint });
  }
  const known = `edges lead there from ${ways.join(" and ")}, and none from what this graph has here.`;
  return new NoRouteError(`${message} ${known}`, refused, {
    ...fields,
    hint: `Make the graph with a context that has such memory too: ${ways.join(" or ")}.`,
  });
}
