import type { Access } from "../memory/access.ts";
import type { Target } from "./context.ts";
import type { Described } from "../tensors/described.ts";
import type { Refusal } from "../errors.ts";
import type { Fence } from "../device/fence.ts";
import { ask, edgeOf, isStep, type Mapper, mapperIn, type ProbedStep } from "./mapper.ts";
import type { Step } from "./route.ts";

export interface Edge {
  readonly mapper: Mapper;
  readonly to: string;
  /** Its place in the graph's table, which decides between equal costs. */
  readonly place: number;
}

const NO_EDGES: readonly Edge[] = [];

export class Edges {
  readonly #from = new Map<string, Edge[]>();

  constructor(mappers: readonly Mapper[]) {
    mappers.forEach((given, place) => {
      const mapper = mapperIn(given, `mappers[${place}]`);
      const { from, to } = mapper;
      const edges = this.#from.get(from);
      if (edges === undefined) this.#from.set(from, [{ mapper, to, place }]);
      else edges.push({ mapper, to, place });
    });
  }

  from(kind: string): readonly Edge[] {
    return this.#from.get(kind) ?? NO_EDGES;
  }

  sourcesOf(kind: string): string[] {
    return [...this.#from].filter(([, edges]) => edges.some(({ to }) => to === kind)).map(([from]) => from);
  }
}

export interface FoundStep {
  readonly mapper: Mapper;
  readonly target: Target;
  readonly step: ProbedStep;
}

export interface Query {
  readonly source: Described;
  readonly goal: Target;
  readonly access: Access;
  /** Work in flight, which a step or the host has to wait for. */
  readonly waits: readonly Fence[];
  readonly copies: boolean;
}

/** The best route, if there is one, and what closed better ones. */
export interface Found {
  readonly steps: readonly FoundStep[] | undefined;
  /** The refusals of edges on routes that could have been better, each once. */
  readonly refused: readonly Refusal[];
}

/** What steps cost: copies, migrations, host waits, steps, compared in that order. */
type Figures = readonly [copies: number, migrations: number, hostWaits: number, steps: number];

/** The figures, then the edges' places in the table. */
interface Cost {
  readonly figures: Figures;
  readonly order: readonly number[];
}

const FREE: Figures = [0, 0, 0, 0];
const NONE: readonly Refusal[] = [];

/** The most descriptions followed at one target; only a mapper whose probes never repeat themselves makes more. */
const MAX_DESCRIPTIONS = 64;

interface Asked {
  readonly edge: Edge;
  readonly probed: ProbedStep | Refusal;
}

interface Reached {
  readonly at: Described;
  readonly waits: readonly Fence[];
  readonly cost: Cost;
  readonly steps: readonly FoundStep[];
}

/** What closed an edge, and the least that a route over it would cost. */
interface Closed {
  readonly refusal: Refusal;
  readonly figures: Figures;
}

/**
 * The cheapest route from a description to a target: Dijkstra over (target, description there, anything left to wait
 * for), because an edge may accept one description at a node and refuse another.
 */
export function search(query: Query, edges: Edges, all: readonly Target[]): Found {
  const asked: Asked[] = [];
  const direct = unbeatable(query, edges, asked);
  if (direct !== undefined) return { steps: [direct], refused: NONE };
  const targets = all.includes(query.goal) ? all : [...all, query.goal];
  const leading = kindsLeadingTo(query.goal, edges, targets);
  const refused = new Map<string, Closed>();
  const open: Reached[] = [{
    at: query.source,
    waits: query.waits,
    cost: { figures: FREE, order: [] },
    steps: [],
  }];
  const closed = new Map<Target, Set<string>>();
  const ids = new Map<object, number>();
  while (open.length > 0) {
    const reached = open.splice(cheapest(open), 1)[0];
    if (reached.at.target === query.goal) {
      return { steps: reached.steps, refused: relevant(refused, reached.cost.figures) };
    }
    const key = reached.steps.length === 0 ? "" : keyOf(reached, ids); // the start has one description
    const met = closed.get(reached.at.target) ?? new Set();
    if (met.has(key) || met.size === MAX_DESCRIPTIONS) continue;
    closed.set(reached.at.target, met.add(key));
    for (const edge of edges.from(reached.at.target.kind)) {
      const { mapper, to, place } = edge;
      if (!leading.has(to)) continue;
      for (let t = 0; t < targets.length; t++) {
        if (targets[t].kind !== to || targets[t] === reached.at.target) continue;
        const known = reached.steps.length === 0 && targets[t] === query.goal
          ? asked.find((one) => one.edge === edge)?.probed
          : undefined;
        const probed = allowed(
          known ?? ask(mapper, reached.at, targets[t], query.access, reached.waits),
          mapper,
          query.copies,
        );
        if (isStep(probed)) {
          open.push(extend(reached, { mapper, target: targets[t], step: probed }, place * targets.length + t));
          continue;
        }
        const id = `${probed.edge}|${probed.reason}`;
        const [copies, migrations, hostWaits, steps] = reached.cost.figures;
        if (!refused.has(id)) refused.set(id, { refusal: probed, figures: [copies, migrations, hostWaits, steps + 1] });
      }
    }
  }
  return { steps: undefined, refused: relevant(refused) };
}

/** The goal's kind, and all from which edges lead to it: a step to any other kind leads nowhere. */
function kindsLeadingTo(goal: Target, edges: Edges, targets: readonly Target[]): Set<string> {
  const leading = new Set([goal.kind]);
  for (const kind of leading) { // also those that are added meanwhile
    for (const from of edges.sourcesOf(kind)) if (targets.some((target) => target.kind === from)) leading.add(from);
  }
  return leading;
}

/** The refusals on routes that could have cost less than the best one does. */
function relevant(refused: ReadonlyMap<string, Closed>, best?: Figures): Refusal[] {
  const all = [...refused.values()];
  const better = best === undefined ? all : all.filter(({ figures }) => difference(figures, best) < 0);
  return better.map(({ refusal }) => refusal);
}

/**
 * No route costs less than one aliasing step without a wait of the host; among such steps the table's order decides. So
 * most maps need no search. The results of other edges are kept in `asked`.
 */
function unbeatable({ source, goal, access, waits }: Query, edges: Edges, asked: Asked[]): FoundStep | undefined {
  if (source.target === goal) return undefined;
  for (const edge of edges.from(source.target.kind)) {
    const { mapper, to } = edge;
    if (to !== goal.kind) continue;
    const probed = ask(mapper, source, goal, access, waits);
    if (isStep(probed) && probed.transfer === "alias" && !probed.hostWait) {
      return { mapper, target: goal, step: probed };
    }
    asked.push({ edge, probed });
  }
  return undefined;
}

export function allowed(probed: ProbedStep | Refusal, mapper: Mapper, copies: boolean): ProbedStep | Refusal {
  if (!isStep(probed) || probed.transfer !== "copy" || copies) return probed;
  return {
    edge: edgeOf(mapper),
    reason: `it would copy ${probed.bytesMoved} bytes to ${probed.result.target.context.name}` +
      (probed.evidence === undefined ? "." : `: ${probed.evidence.replace(/\.$/, "")}.`),
    remedy: 'Pass { copy: "allow" } to allow it.',
  };
}

function extend(reached: Reached, found: FoundStep, place: number): Reached {
  const { hostWait, result } = found.step;
  return {
    at: result,
    waits: hostWait ? [] : reached.waits,
    cost: {
      figures: withStep(reached.cost.figures, found.step),
      order: [...reached.cost.order, place],
    },
    steps: [...reached.steps, found],
  };
}

function cheapest(open: readonly Reached[]): number {
  let least = 0;
  for (let i = 1; i < open.length; i++) if (compare(open[i].cost, open[least].cost) < 0) least = i;
  return least;
}

function compare(a: Cost, b: Cost): number {
  return difference(a.figures, b.figures) || difference(a.order, b.order);
}

function withStep([copies, migrations, hostWaits, steps]: Figures, { transfer, hostWait }: Step): Figures {
  return [
    copies + Number(transfer === "copy"),
    migrations + Number(transfer === "migrate"),
    hostWaits + Number(hostWait),
    steps + 1,
  ];
}

/** Below 0 where one list of steps costs less than another. */
export function compareSteps(one: readonly Step[], other: readonly Step[]): number {
  return difference(one.reduce(withStep, FREE), other.reduce(withStep, FREE));
}

function difference(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

/** Equal if no later step could see a difference: in the description, or in whether work is left to wait for. */
function keyOf({ at, waits }: Reached, ids: Map<object, number>): string {
  const id = (object: object) => {
    if (!ids.has(object)) ids.set(object, ids.size);
    return ids.get(object);
  };
  const planes = at.planes.map((p) => [id(p.allocation), p.address, p.layout]);
  return JSON.stringify(
    [at.access, planes, at.info, waits.length > 0],
    (_, value) => typeof value === "bigint" ? `${value}n` : value,
  );
}
