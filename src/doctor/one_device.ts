import type { Context, Target } from "../core/graph/context.ts";
import { Graph } from "../core/graph/graph.ts";
import { edgesOf } from "../core/graph/port_mapper.ts";
import type { Mapped } from "../core/tensors/mapped.ts";
import { host } from "../host/context.ts";
import { type ApiExaminer, type Examination, type Examined, LITTLE } from "./api.ts";
import { examineLibrary } from "./library.ts";
import { attempt, type DeviceReport, type Finding, type Trait } from "./report.ts";

/** A library with one context, which is its only device and target. */
export interface OneDevice<C extends Context & Target> extends Pick<ApiExaminer, "api" | "variables"> {
  /** The function by whose address the library's file is found. */
  readonly symbol: string;
  open(): C;
  version(context: C): string;
  traits(context: C): readonly Trait[];
  /** Makes a small sample of this kind; by default from the host's memory. */
  make?(context: C): Mapped;
}

/** The examiner of such a library. */
export function oneDevice<C extends Context & Target>(of: OneDevice<C>): ApiExaminer {
  return { api: of.api, variables: of.variables, files: [], examine: (how) => examine(of, how) };
}

function examine<C extends Context & Target>(of: OneDevice<C>, { opened }: Examination): Examined {
  const { api, symbol } = of;
  const findings: Finding[] = [];
  let found: C | undefined;
  const library = examineLibrary(api, () => found = opened.use(of.open()), symbol, findings);
  const report = { api, library, modules: [], drivers: [], findings };
  if (found === undefined) return { report: { ...report, devices: [] }, nodes: [] };
  const context = found;
  const mapped = () => opened.use(new Graph([host, context], edgesOf)).map(opened.use(host.allocate(LITTLE)), context);
  const device: DeviceReport = {
    ...{ id: api, name: context.name, facts: [], aliasing: [], findings: [] },
    traits: attempt(findings, () => of.traits(context)) ?? [],
  };
  return {
    report: { ...report, library: { ...library, version: of.version(context) }, devices: [device] },
    nodes: [{ device: api, target: context, make: of.make === undefined ? mapped : () => of.make!(context) }],
  };
}
