import { row, table, wrap } from "./columns.ts";
import type { ApiReport, DeviceReport, Finding, LibraryReport, Report, RouteReport } from "./report.ts";

/** Widths of the columns before the last one. */
const NAME = [14];
const DETAIL = [2, 12];
const ITEM = [2];
const FLAG = [2, 34];

/** What the words of the first table mean. */
const WORDS: Readonly<Record<string, string>> = {
  alias: "the same bytes: proven by an experiment, nothing moves",
  migrate: "the driver moves the bytes behind the scenes, or may",
  copy: "bytes are copied, and only where that is asked for",
  closed: "there is no way",
};

/**
 * A report for people, in lines of at most 80 columns: first what can be shared with what, then what keeps it from
 * more and what mends that, then what there is.
 */
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

/** The kinds of memory from or to which any way leads, and those that stand alone. */
function sharedAndAlone({ targets, routes }: Report): [shared: string[], alone: string[]] {
  const ids = targets.map(({ id }) => id);
  const isShared = (id: string) => routes.some(({ from, to, open }) => open && (from === id || to === id));
  return [ids.filter(isShared), ids.filter((id) => !isShared(id))];
}

/** A table from (rows) and to (columns), and what its words mean. */
function sharingLines(report: Report): string[] {
  const { routes } = report;
  const [ids, alone] = sharedAndAlone(report);
  if (ids.length === 0) return [`nothing: ${alone.length === 0 ? "no memory" : `only ${alone.join(", ")}`} is here`];
  const wordFor = (from: string, to: string) => {
    const route = routes.find((it) => it.from === from && it.to === to);
    return route === undefined ? "-" : wordOf(route);
  };
  const shown = routes.filter(({ from, to }) => ids.includes(from) && ids.includes(to));
  const words = Object.entries(WORDS).filter(([word]) => shown.some((route) => wordOf(route) === word));
  return [
    ...table(["from \\ to", ...ids], ids.map((from) => [from, ...ids.map((to) => wordFor(from, to))])),
    ...words.flatMap(([word, meaning]) => row(NAME, word, meaning)),
    ...(alone.length === 0 ? [] : row(NAME, "with nothing", alone.join(", "))),
  ];
}

function wordOf({ open, transfer }: RouteReport): string {
  return open ? transfer! : "closed";
}

/** What is not an alias, and each edge that is closed; what has one reason stands together. */
function whyLines(report: Report): string[] {
  const { routes, edges } = report;
  const [, alone] = sharedAndAlone(report);
  const reasons = new Map<string, Set<string>>();
  const tell = (ends: string, word: string, ...why: readonly (string | undefined)[]) => {
    const reason = `${word}: ${why.filter((part) => part !== undefined && part !== "").join(" ")}`;
    reasons.set(reason, (reasons.get(reason) ?? new Set()).add(ends));
  };
  for (const { from, to, open, transfer, steps, refused } of routes) {
    const worst = steps.find((step) => step.transfer === transfer);
    const way = steps.length > 1 ? `by ${steps.map(({ edge }) => edge).join(" and ")};` : "";
    if (!open && refused.length === 0 && !alone.includes(from) && !alone.includes(to)) {
      tell(`${from} → ${to}`, "closed", "no edge leads there.");
    }
    if (open && transfer !== "alias") tell(`${from} → ${to}`, transfer!, way, worst?.evidence);
  }
  for (const { edge, from, to, open, reason, remedy } of edges) {
    if (!open) tell(from === undefined ? edge : `${from} → ${to}`, "closed", reason, remedy);
  }
  return [...reasons].flatMap(([reason, ends]) => [...wrap([...ends].join(", ")), ...row(ITEM, "", reason)]);
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

function libraryLines({ api, library, drivers, variables }: ApiReport): string[] {
  const lines: (readonly [label: string, text: string])[] = [
    ...library.attempts.map(({ path, message }) => ["tried", `${path}: ${message}`] as const),
    ...drivers.map(({ name, file, package: owner, devices }) => {
      const offers = devices.length === 0 ? "no device" : devices.join(", ");
      return ["driver", listed(`${name}: ${offers}`, file, owner)] as const;
    }),
    ...Object.entries(variables).map(([name, value]) => ["variable", `${name}=${value}`] as const),
  ];
  return [...row(NAME, api, foundAt(library)), ...lines.flatMap(([label, text]) => row(DETAIL, "", label, text))];
}

function foundAt({ opened, file, version, package: owner, variable }: LibraryReport): string {
  if (opened === undefined) return `not open; ${variable}=path names a library (with --allow-env)`;
  return listed(version, file ?? opened, owner);
}

function listed(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join("; ");
}
