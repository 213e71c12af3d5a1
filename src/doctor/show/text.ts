import { row, table, wrap } from "./columns.ts";
import type { ApiReport, DeviceReport, Finding, LibraryReport, Report, RouteReport } from "../report.ts";

const NAME = [14];
const DETAIL = [2, 12];
const ITEM = [2];
const FLAG = [2, 34];

const WORDS: Readonly<Record<string, readonly [sign: string, meaning: string]>> = {
  alias: ["=", "the same bytes, nothing moves: proven, or one address or handle"],
  migrate: ["~", "the driver moves the bytes behind the scenes, or may"],
  copy: ["+", "bytes are copied, and only where that is asked for"],
  closed: ["x", "no route is open"],
};

/** A report for people, in 80 columns: what can be shared, why not more, what to do about it, and the details. */
export function textOf(report: Report): string {
  const { versions, apis } = report;
  const devices = apis.flatMap((api) => api.devices);
  const sections: Readonly<Record<string, readonly string[]>> = {
    "This machine": [
      ...wrap(listed(`samepage ${versions.samepage}`, `Deno ${versions.deno}`, versions.system, versions.kernel)),
      ...apis.flatMap(namesOf),
    ],
    "What can be shared": sharingLines(report),
    "Why not more": whyLines(report),
    "What to do": findingsOf(report).flatMap(findingLines),
    "Devices": devices.flatMap(deviceLines),
    "Libraries": apis.flatMap(libraryLines),
    "What more could be seen": report.permissions.filter(({ granted }) => !granted)
      .flatMap(({ flag, shows }) => row(FLAG, "", flag, shows)),
  };
  return Object.entries(sections)
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => [title.toUpperCase(), ...lines].join("\n"))
    .join("\n\n");
}

function namesOf({ devices, drivers }: ApiReport): string[] {
  return devices.flatMap(({ id, name }) => {
    const driver = drivers.find((it) => it.devices.includes(id));
    return row(NAME, id, driver === undefined ? name : `${name} (${driver.name})`);
  });
}

function sharedAndAlone({ targets, routes }: Report): [shared: string[], alone: string[]] {
  const ids = targets.map(({ id }) => id);
  const isShared = (id: string) => routes.some(({ from, to, open }) => open && (from === id || to === id));
  return [ids.filter(isShared), ids.filter((id) => !isShared(id))];
}

/** Why a kind of memory is not in the table. */
const NO_ROW = "nothing here makes such memory to try, or no route leads there";

function sharingLines(report: Report): string[] {
  const { routes } = report;
  const [ids, alone] = sharedAndAlone(report);
  if (ids.length === 0) return [`nothing: ${alone.length === 0 ? "no memory" : `only ${alone.join(", ")}`} is here`];
  const signFor = (from: string, to: string) => {
    const route = routes.find((it) => it.from === from && it.to === to);
    return route === undefined ? "-" : WORDS[wordOf(route)][0];
  };
  const shown = routes.filter(({ from, to }) => ids.includes(from) && ids.includes(to));
  const words = Object.entries(WORDS).filter(([word]) => shown.some((route) => wordOf(route) === word));
  const numbers = ids.map((_, i) => `${i + 1}`);
  const numbered = ids.map((id, i) => `${numbers[i].padStart(`${ids.length}`.length)} ${id}`);
  return [
    ...table(["from \\ to", ...numbers], ids.map((from, i) => [numbered[i], ...ids.map((to) => signFor(from, to))])),
    ...words.flatMap(([word, [sign, meaning]]) => row(NAME, `${sign} ${word}`, meaning)),
    ...(alone.length === 0 ? [] : row(NAME, "no row", `${alone.join(", ")}: ${NO_ROW}`)),
  ];
}

function wordOf({ open, transfer }: RouteReport): string {
  return open ? transfer! : "closed";
}

/** Why routes are not aliases, and why edges between their ends are closed, grouped by reason. */
function whyLines(report: Report): string[] {
  const { routes, edges } = report;
  const [, alone] = sharedAndAlone(report);
  const reasons = new Map<string, Pairs>();
  const add = (from: string, to: string, ...why: readonly (string | undefined)[]) => {
    const reason = why.filter((part) => part !== undefined && part !== "").join(" ");
    reasons.set(reason, [...reasons.get(reason) ?? [], [from, to]]);
  };
  for (const { from, to, open, transfer, steps, refused } of routes) {
    const worst = steps.find((step) => step.transfer === transfer);
    const unasked = refused.filter(({ edge }) => !edges.some((one) => one.edge === edge));
    if (!open && !alone.includes(from) && !alone.includes(to)) {
      for (const { reason, remedy } of unasked) add(from, to, "closed:", reason, remedy);
    }
    if (open && transfer !== "alias") add(from, to, `${transfer} at ${worst?.edge}:`, worst?.evidence);
  }
  const aliased = routes.filter(({ transfer }) => transfer === "alias");
  for (const { edge, from, to, open, reason, remedy } of edges) {
    if (open || aliased.some((route) => route.from === from && route.to === to)) continue;
    const [kind, other] = edge.split("→");
    add(from ?? kind, to ?? other, "closed:", reason, remedy);
  }
  return [...reasons].flatMap(([reason, pairs]) => [...wrap(joined(pairs)), ...row(ITEM, "", reason)]);
}

function findingsOf({ findings, apis }: Report): readonly Finding[] {
  const all = [...findings, ...apis.flatMap((api) => [...api.findings, ...api.devices.flatMap((it) => it.findings)])];
  return all.filter(({ what }, i) => all.findIndex((other) => other.what === what) === i);
}

function findingLines({ what, remedy }: Finding): string[] {
  return [...row(ITEM, "!", what), ...(remedy === undefined ? [] : row(ITEM, "", remedy))];
}

function deviceLines({ id, name, traits }: DeviceReport): string[] {
  return [...row(NAME, id, name), ...traits.flatMap(({ label, text }) => row(DETAIL, "", label, text))];
}

function libraryLines({ api, library, modules, drivers, variables }: ApiReport): string[] {
  const lines: (readonly [label: string, text: string])[] = [
    ...attemptsOf(library),
    ...modules.flatMap((module) => [[module.name, foundAt(module)] as const, ...attemptsOf(module)]),
    ...drivers.map(({ name, file, package: owner, devices }) => {
      const offers = devices.length === 0 ? "no device" : devices.join(", ");
      return ["driver", listed(`${name}: ${offers}`, file, owner)] as const;
    }),
    ...Object.entries(variables).map(([name, value]) => ["variable", `${name}=${value}`] as const),
  ];
  return [...row(NAME, api, foundAt(library)), ...lines.flatMap(([label, text]) => row(DETAIL, "", label, text))];
}

function attemptsOf({ attempts }: LibraryReport) {
  return attempts.map(({ path, message }) => ["tried", `${path}: ${message}`] as const);
}

function foundAt({ opened, file, version, package: owner, variable, override }: LibraryReport): string {
  if (opened === undefined && override !== undefined) return `not open; correct or unset ${variable}, which names it`;
  if (opened === undefined) return `not open; ${variable}=path names a library (with --allow-env)`;
  return listed(version, file ?? opened, owner);
}

function listed(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join("; ");
}

export type Pairs = readonly (readonly [from: string, to: string])[];

/** `"a, b → c, d"` for sources with the same targets; `"a, b → a, b"` for pairs between all of a group. */
export function joined(pairs: Pairs): string {
  const targets = [...new Set(pairs.map(([, to]) => to))].sort();
  const groups = new Map<string, string[]>();
  for (const from of new Set(pairs.map(([from]) => from))) {
    const leadsTo = (to: string) => pairs.some((pair) => pair[0] === from && pair[1] === to);
    const key = targets.filter((to) => to === from || leadsTo(to)).join(", ");
    groups.set(key, [...groups.get(key) ?? [], from]);
  }
  return [...groups].map(([to, froms]) => {
    const alone = froms.length === 1 && !pairs.some((pair) => pair[0] === pair[1]);
    return `${froms.join(", ")} → ${alone ? to.split(", ").filter((it) => it !== froms[0]).join(", ") : to}`;
  }).join("; ");
}
