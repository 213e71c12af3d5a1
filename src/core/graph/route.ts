import { Printed } from "../printed.ts";
import { NoRouteError, type Refusal } from "../errors.ts";

/**
 * What a step does with the bytes: `"alias"` (the same bytes, proven), `"migrate"` (the driver moves them), `"copy"`
 * (samepage copies them, because you allowed it).
 */
export type Transfer = "alias" | "migrate" | "copy";

/** In order of cost to the bytes, the least first. */
const TRANSFERS: readonly Transfer[] = ["alias", "migrate", "copy"];

/** The most that several steps do with the bytes: `"alias"` for none. */
export function mostOf(transfers: readonly Transfer[]): Transfer {
  return transfers.reduce(moreOf, "alias");
}

export function moreOf(one: Transfer, other: Transfer): Transfer {
  return TRANSFERS.indexOf(other) > TRANSFERS.indexOf(one) ? other : one;
}

/** One edge of a route. */
export interface Step {
  /** The edge: `"host→opencl"`. */
  readonly edge: string;
  /** What it does with the bytes. */
  readonly transfer: Transfer;
  /** True if the host has to wait for work in flight before this step. */
  readonly hostWait: boolean;
  /** Why it has to, if the edge gives a reason. */
  readonly waitReason?: string | undefined;
  /** Bytes that this step's map and unmap move together; 0 for an alias. */
  readonly bytesMoved: number;
  /** How the transfer is known: `"proven by aliasing, address % 4096 = 0"`. */
  readonly evidence?: string | undefined;
}

export function sumOf(steps: readonly Step[]): Pick<Step, "transfer" | "hostWait" | "waitReason" | "bytesMoved"> {
  const waiting = steps.find(({ hostWait }) => hostWait);
  return {
    transfer: mostOf(steps.map(({ transfer }) => transfer)),
    hostWait: waiting !== undefined,
    waitReason: waiting?.waitReason,
    bytesMoved: steps.reduce((sum, { bytesMoved }) => sum + bytesMoved, 0),
  };
}

/** A {@link Route} as JSON. */
export type RouteJson = Pick<Route, "steps" | "refused" | "open"> & { readonly waitReason?: string };

/** How a tensor was, or would be, mapped to a target. It prints as one line per step. */
export class Route extends Printed {
  /** From source to target; empty for memory that was not mapped, and for a map to its own target. */
  readonly steps: readonly Step[];
  /** The edges that refused, each with its reason. */
  readonly refused: readonly Refusal[];
  /** False if no route leads there. */
  readonly open: boolean;

  /** Why the host has to wait although there is no step; undefined if it has not. */
  readonly waitReason: string | undefined;

  /** Made by the graph. */
  constructor(steps: readonly Step[], refused: readonly Refusal[], open: boolean = true, waitReason?: string) {
    super();
    this.steps = steps;
    this.refused = refused;
    this.open = open;
    this.waitReason = waitReason;
  }

  /** Bytes moved by all steps together. */
  get bytesMoved(): number {
    return sumOf(this.steps).bytesMoved;
  }

  /** What `JSON.stringify` makes of it: its steps and refusals, and whether it is open. */
  override toJSON(): RouteJson {
    const { steps, refused, open, waitReason } = this;
    return { steps, refused, open, ...(waitReason === undefined ? {} : { waitReason }) };
  }

  /** One line per step, then one line per refusal. */
  toString(): string {
    const waits = this.waitReason === undefined ? "" : `, the host waits first: ${this.waitReason}`;
    const none = this.open ? `no step: the bytes are there already${waits}` : "no route";
    const steps = this.steps.length === 0 ? [none] : this.steps.map(describeStep);
    return [...steps, ...this.refused.map(describeRefusal)].join("\n");
  }
}

export const ORIGIN: Route = new Route([], []);

/** `host→opencl: alias (proven …)`. */
function describeStep(step: Step): string {
  const moved = step.bytesMoved > 0 ? `, ${step.bytesMoved} bytes moved` : "";
  const why = step.waitReason === undefined ? "" : `: ${step.waitReason}`;
  const waits = step.hostWait ? `, the host waits first${why}` : "";
  const evidence = step.evidence === undefined ? "" : ` (${step.evidence})`;
  return `${step.edge}: ${step.transfer}${moved}${waits}${evidence}`;
}

/** `host→opencl: closed: why. What would open it.` */
function describeRefusal(refusal: Refusal): string {
  return `${refusal.edge}: closed: ${refusal.reason}${refusal.remedy === undefined ? "" : ` ${refusal.remedy}`}`;
}

function together(refused: readonly Refusal[]): Refusal[] {
  const byReason = Map.groupBy(refused, ({ reason, remedy }) => `${reason}|${remedy}`);
  return Array.from(byReason.values(), (each) => ({ ...each[0], edge: each.map(({ edge }) => edge).join(" and ") }));
}

/** A map for which no edge could be asked, and the kinds of memory around it. */
export interface Unreached {
  readonly from: string;
  readonly to: string;
  readonly edgesFrom: readonly string[];
  readonly there: readonly string[];
}

/** What copies elements from any API to any other. */
export const COPY = "queue.read() and queue.write().";

export function noEdge({ from, to, edgesFrom, there }: Unreached): Refusal {
  const edge = `${from}→${to}`;
  if (edgesFrom.length === 0) {
    const remedy = "Allocate memory of that kind, and map from it; or map to another target.";
    return { edge, reason: `nothing in this graph maps to ${to}.`, remedy };
  }
  const near = edgesFrom.filter((each) => there.includes(each));
  const kinds = near.length === 0 ? edgesFrom : near;
  return {
    edge,
    reason: `only memory of ${kinds.join(" or ")} is mapped there, and no route leads from ${from} to that.`,
    remedy: near.length === 0
      ? `Add a context with such memory to the graph: ${kinds.join(" or ")}. Or copy the elements: ${COPY}`
      : `Copy the elements to such memory, which is in this graph: ${COPY}`,
  };
}

export function noRoute(from: string, to: string, refused: readonly Refusal[]): NoRouteError {
  const reasons = together(refused).map(describeRefusal).join(" ");
  return new NoRouteError(`No route from ${from} to ${to}: ${reasons}`, refused, { api: "core", argument: "target" });
}
