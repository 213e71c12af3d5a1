import { type Target, TARGETS } from "../clang.ts";
import type { Library } from "../library.ts";
import type { Model } from "../model.ts";
import { readC } from "./c.ts";
import { readConstants } from "./constants.ts";
import { readCxx } from "./cxx/mod.ts";
import { readMacros } from "./macros.ts";
import { candidates, select } from "./select.ts";

/** Reads a library for every target and refuses what is not the same on all of them. */
export async function readModel(library: Library): Promise<Model> {
  const [first, ...others] = await Promise.all(TARGETS.map((target) => readModelFor(library, target)));
  for (const [i, other] of others.entries()) {
    const difference = firstDifference(first, other);
    if (difference) {
      throw new Error(`${difference} differs between ${TARGETS[0]} and ${TARGETS[i + 1]}`);
    }
  }
  return first;
}

async function readModelFor(library: Library, target: Target): Promise<Model> {
  const [{ functions, structs, enumerators }, macros] = await Promise.all([
    library.cxx ? readCxx(library, library.cxx, target) : readC(library, target),
    readMacros(library, target),
  ]);
  const all = candidates(macros, enumerators);
  const taken = new Set<string>();
  const none = { type: "int", names: [] };
  const groups = [library.errors ?? none, ...library.constants].map((group) => {
    const chosen = select(group, all).filter(({ name }) => !taken.has(name));
    chosen.forEach(({ name }) => taken.add(name));
    return { type: group.type, candidates: chosen };
  });
  const [errors, ...constants] = await readConstants(library, target, groups);
  const clash = errors.find(({ name, value, text }) => (
    errors.some((other) => other.value === value && other.name !== name && other.text !== name && other.name !== text)
  ));
  if (clash) throw new Error(`${clash.name} (${clash.value}) has the code of another error without being its alias`);

  const foreign = [
    ...functions.flatMap(({ parameters, result }) => [...parameters.map((parameter) => parameter.foreign), result]),
    ...library.layoutsOnly
      ? []
      : structs.flatMap((struct) => Object.values(struct.members).map((member) => member.foreign)),
  ];
  const handles = [...new Set(foreign.flatMap(({ handle }) => handle ?? []))].sort();
  return { functions, handles, constants, errors, structs };
}

/** Names the first thing that two models disagree about. */
function firstDifference(a: Model, b: Model): string | undefined {
  const parts = (model: Model) =>
    [
      ...model.functions.map((item) => [item.name, item]),
      ...[...model.constants.flat(), ...model.errors].map((item) => [item.name, item]),
      ...model.structs.map((item) => [item.type, item]),
    ] as [string, unknown][];
  const text = (value: unknown) =>
    JSON.stringify(value, (key, v) => key === "text" ? "" : typeof v === "bigint" ? `${v}n` : v);
  const others = new Map(parts(b).map(([name, value]) => [name, text(value)]));
  const own = parts(a).find(([name, value]) => others.get(name) !== text(value))?.[0];
  return own ?? parts(b).find(([name]) => !parts(a).some(([known]) => known === name))?.[0];
}
