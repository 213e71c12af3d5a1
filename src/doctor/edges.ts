import type { Context, Target } from "../core/graph/context.ts";
import type { Refusal } from "../core/errors.ts";
import { Graph } from "../core/graph/graph.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { edgeOf, type Mapper } from "../core/graph/mapper.ts";
import { mostOf, Route } from "../core/graph/route.ts";
import type { Examination, Node } from "./api.ts";
import {
  type ApiReport,
  attempt,
  type EdgeReport,
  type Finding,
  findingOf,
  type RouteReport,
  type TargetReport,
} from "./report.ts";

/** A small sample of some kind of memory, or why none could be made. */
type Sample = { readonly memory: Mapped } | { readonly problem: Finding };

interface Source {
  readonly id: string;
  readonly target: Target;
  readonly sample: Sample;
  /** A sample in each context that it may belong to. */
  readonly homes: ReadonlyMap<Context, Sample>;
}

export interface Edges {
  readonly targets: readonly TargetReport[];
  readonly edges: readonly EdgeReport[];
  readonly routes: readonly RouteReport[];
}

/** Finds the open mappers between each two targets, and the best routes, without a map. */
export function examineEdges(
  nodes: readonly Node[],
  mappers: readonly Mapper[],
  { proofs, opened }: Examination,
  apis: readonly ApiReport[],
): Edges {
  const sources = nodes.map((node) => sourceOf(node, opened));
  const asked = proofs ? mappers : mappers.map(unproven);
  return {
    targets: sources.map(({ id, target, sample }, i) => ({
      id,
      kind: target.kind,
      api: target.context.api,
      device: nodes[i].device,
      ...("problem" in sample ? { problem: sample.problem.what } : {}),
    })),
    edges: asked.flatMap((mapper) => edgesOf(mapper, sources, apis)),
    routes: routesOf(asked, sources),
  };
}

/** `opencl:0` for a device's main kind of memory, `opencl:0.svm` for another. */
function idOf({ device, target: { kind, context: { api } } }: Node): string {
  return kind.startsWith(api) ? `${device}${kind.slice(api.length)}` : `${device}.${kind}`;
}

function sourceOf(node: Node, opened: DisposableStack): Source {
  const { target, make, homes = new Map<Context, () => Mapped>() } = node;
  const none: Sample = { problem: { what: `nothing here makes ${target.kind} memory to try.` } };
  const at = new Map([...homes].map(([context, makeIn]) => [context, sampleOf(makeIn, opened)]));
  // With a context that is not one of its homes, the first home stands for all.
  const [first = make === undefined ? none : sampleOf(make, opened)] = at.values();
  return { id: idOf(node), target, sample: first, homes: at };
}

function sampleOf(make: () => Mapped, opened: DisposableStack): Sample {
  const findings: Finding[] = [];
  const memory = attempt(findings, () => {
    const made = opened.use(make());
    for (const fence of made.work) fence.waitSync(); // else the report would depend on how fast memory is zeroed
    return made;
  });
  return memory === undefined ? { problem: findings[0] } : { memory };
}

function unproven(mapper: Mapper): Mapper {
  const { from, to } = mapper;
  return { from, to, probe: (...args) => mapper.probe(...args), map: (...args) => mapper.map(...args) };
}

function edgesOf(mapper: Mapper, sources: readonly Source[], apis: readonly ApiReport[]): EdgeReport[] {
  const edge = edgeOf(mapper);
  const missing = [mapper.from, mapper.to].sort().filter((kind) => !sources.some(({ target }) => target.kind === kind));
  if (missing.length > 0) return [{ edge, open: false, ...absent(missing, sources, apis) }];
  return pairs(sources)
    .filter(([from, to]) => from.target.kind === mapper.from && to.target.kind === mapper.to)
    .map(([from, to]) => {
      // Only these two: another device's refusal is not a reason here.
      using graph = new Graph([from.target.context, to.target.context], [mapper]);
      const { open, steps: [step], refused } = explain(graph, from, to, edge);
      const ends = { edge, from: from.id, to: to.id, open };
      if (!open) return { ...ends, ...closed(refused) };
      const { transfer, evidence } = step;
      return { ...ends, transfer, ...(evidence === undefined ? {} : { evidence }) };
    });
}

function routesOf(mappers: readonly Mapper[], sources: readonly Source[]): RouteReport[] {
  using graph = new Graph(sources.map(({ target }) => target.context), mappers);
  return pairs(sources).map(([from, to]) => {
    const { open, steps, refused } = explain(graph, from, to, `${from.target.kind}→${to.target.kind}`);
    return {
      from: from.id,
      to: to.id,
      open,
      ...(open ? { transfer: mostOf(steps.map(({ transfer }) => transfer)) } : {}),
      steps,
      refused,
    };
  });
}

/** The graph's explanation with copies allowed; a failure counts as a refusal. */
function explain(graph: Graph, from: Source, to: Source, edge: string): Route {
  const sample = from.homes.get(to.target.context) ?? from.sample;
  if ("problem" in sample) return refusal(edge, sample.problem);
  try {
    const { steps, refused, open } = graph.explain(sample.memory, to.target, { copy: "allow" });
    return new Route(steps, refused.map(withoutHandles), open);
  } catch (error) {
    return refusal(edge, findingOf(error));
  }
}

/** Removes handles, so that the same machine has the same report. */
function withoutHandles(refused: Refusal): Refusal {
  return { ...refused, reason: refused.reason.replace(/0x[0-9a-f]{8,16}\b/g, "0x…") };
}

function refusal(edge: string, { what, ...remedy }: Finding): Route {
  return new Route([], [{ edge, reason: what, ...remedy }], false);
}

function closed(refused: readonly Refusal[]): Pick<EdgeReport, "reason" | "remedy"> {
  const [first] = refused;
  if (first === undefined) return { reason: "nothing here maps to it." };
  const { reason, remedy } = first;
  return { reason, ...(remedy === undefined ? {} : { remedy }) };
}

/** Why kinds of memory are missing: the first finding of their API, if all of that is missing. */
function absent(
  kinds: readonly string[],
  sources: readonly Source[],
  apis: readonly ApiReport[],
): Pick<EdgeReport, "reason" | "remedy"> {
  const here = new Set(sources.map(({ target }) => target.context.api));
  const lacking = apis.filter(({ api }) => !here.has(api) && kinds.some((kind) => kind.startsWith(api)));
  const findings = lacking.flatMap((api) => [...api.findings, ...api.devices.flatMap((device) => device.findings)]);
  const remedy = findings.find((finding) => finding.remedy !== undefined)?.remedy;
  const what = lacking.length > 0
    ? lacking.map(({ api }) => api).join(", no ") // the same for all of its kinds
    : `${[...new Set(kinds)].join(", no ")} memory`;
  return { reason: `there is no ${what} here.`, ...(remedy === undefined ? {} : { remedy }) };
}

function pairs(sources: readonly Source[]): (readonly [Source, Source])[] {
  return sources.flatMap((from) => sources.filter((to) => to !== from).map((to) => [from, to] as const));
}
