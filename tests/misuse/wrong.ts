/**
 * Passes values of wrong types where a program passes good ones: to each parameter and option of the public methods that a
 * row calls, before its own call. By law 5, each has to be refused by a typed error that names the argument.
 *
 * @module
 */
import { isProxy } from "node:util/types";
import { InteropError } from "../../mod.ts";
import type { Accepted, Parameter } from "./documentation.ts";

/** What the parameters take, by the name of the function or method. */
export type Parameters = Readonly<Record<string, readonly Parameter[][]>>;

/** The outcome of the wrong values. */
export interface Wrong {
  /** Each parameter and option that got some: `Graph.map options.access`. */
  readonly tried: string[];
  /** What was accepted, threw an untyped error, or one that names another argument. */
  readonly faults: string[];
}

/** One of each type, the names of Object's own properties, and an object of a class. */
const VALUES: readonly unknown[] = [
  null,
  5,
  NaN,
  "x",
  "constructor",
  "",
  5n,
  true,
  Symbol("s"),
  {},
  new Date(0),
  () => {},
];

/** Methods, and parameters of methods, that take other values, or name another argument; and why. */
const EXEMPT: Readonly<Record<string, string>> = {
  "Fence.then": "JavaScript's own then() ignores what is not a function",
  "OpenCLContext.deviceIn": "a device is known by its handle alone",
  "region init.byteLength": "it follows from the rest",
  "textOf": "it trusts the report that doctor() returned",
  "svgOf": "it trusts the report that doctor() returned",
  "pipeline origin": "errors name the list of stages that it is the first of",
  "join other": "errors name the list of stages that it is the first of",
  "toRing options.whenFull": "the rings check it, when they are made",
};

/** True for what is not tried; `is` takes any value. */
export function isExempt(name: string): boolean {
  return Object.hasOwn(EXEMPT, name) || name.endsWith(".is");
}

const tried = new Set<string>();
const faults: string[] = [];
const calls = new Map<string, number>();

/** Wrong values are passed before so many calls of a method, because the first call may have no options. */
const MAX_CALLS = 5;

/** The outcome since the last call. */
export function wrong(): Wrong {
  return { tried: [...tried], faults: faults.splice(0) };
}

/** One wrong value: where, and the arguments with it. */
interface Case {
  readonly path: string;
  readonly value: unknown;
  readonly args: readonly unknown[];
}

/** Calls a method with wrong values, before its first calls. Returns a function to call once its own call has succeeded. */
export function tryWrong(
  name: string,
  overloads: readonly Parameter[][],
  call: (args: readonly unknown[]) => unknown,
  args: readonly unknown[],
): () => void {
  const before = calls.get(name) ?? 0;
  if (before === MAX_CALLS || isExempt(name)) return () => {};
  calls.set(name, before + 1);
  const misnamed: string[] = [];
  const judge = ({ path, value }: Case, error: unknown) => {
    const title = `${name} ${path} = ${typeof value} ${String(value)}`;
    if (!(error instanceof InteropError)) return void faults.push(`${title}: ${error}`);
    const [head] = `${error.argument}`.split(/[.[]/);
    if (!path.split(".").includes(head)) misnamed.push(`${title}: ${error.argument}: ${error.message}`);
  };
  const cases = [...casesOf(overloads, args.map(withoutCalls))].filter(({ path }) => {
    return !tried.has(`${name} ${path}`) && !isExempt(`${name} ${path}`);
  });
  for (const one of cases) {
    tried.add(`${name} ${one.path}`);
    try {
      const result = call(one.args);
      if (result instanceof Promise) result.then(() => accepted(name, one), (error) => judge(one, error));
      else accepted(name, one);
    } catch (error) {
      judge(one, error);
    }
  }
  return () => void faults.push(...misnamed);
}

function accepted(name: string, { path, value }: Case): void {
  faults.push(`${name} ${path} = ${typeof value} ${String(value)}: accepted`);
}

function* casesOf(overloads: readonly Parameter[][], args: readonly unknown[]): Generator<Case> {
  const [first, ...others] = overloads;
  for (const [i, parameter] of first.entries()) {
    const same = others.every((other) => JSON.stringify(other[i]) === JSON.stringify(parameter));
    if (!same || parameter.kinds === undefined) continue;
    const withValue = (value: unknown) => Object.assign([...args], { [i]: value });
    yield* valuesFor(parameter as Accepted, args[i], parameter.name, withValue);
  }
}

function* valuesFor(
  { kinds, words, fields }: Accepted,
  given: unknown,
  path: string,
  withValue: (value: unknown) => readonly unknown[],
): Generator<Case> {
  for (const value of VALUES) {
    const kind = value === null ? "null" : typeof value;
    const isWord = kind === "string" && words !== undefined && !words.includes(value as string);
    if (!kinds.includes(kind) || isWord) yield { path, value, args: withValue(value) };
  }
  if (fields === undefined || !isData(given)) return;
  for (const [name, field] of Object.entries(fields)) {
    const own = (given as Readonly<Record<string, unknown>> | undefined)?.[name];
    const { fields: inner, ...about } = field;
    const accepts = own === undefined || inner === undefined ? about : { ...about, fields: inner };
    yield* valuesFor(accepts, own, `${path}.${name}`, (value) => withValue({ ...given as object, [name]: value }));
  }
}

/** The same options with functions that do nothing: a row counts how often its own are called. */
function withoutCalls(given: unknown): unknown {
  if (!isData(given)) return given;
  const quiet = (value: unknown) => typeof value === "function" ? () => {} : value;
  return given && Object.fromEntries(Object.entries(given).map(([name, value]) => [name, quiet(value)]));
}

/** True for undefined, and for a plain object without getters: reading it has no effect. samepage's own descriptions are frozen. */
function isData(given: unknown): boolean {
  if (given === undefined) return true;
  if (typeof given !== "object" || given === null || isProxy(given) || Object.isFrozen(given)) return false;
  if (Object.getPrototypeOf(given) !== Object.prototype) return false;
  return Object.values(Object.getOwnPropertyDescriptors(given)).every(({ get }) => get === undefined);
}
