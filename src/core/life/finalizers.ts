import { warn } from "../errors.ts";
import type { Resource } from "./resource.ts";
import { unexpected } from "../argument.ts";
import { environmentInWords } from "../native/library.ts";

/** Its value is 1 where a program wants to know. */
const VARIABLE = "SAMEPAGE_TRACE_FORGOTTEN";

const MAX_CALLS = 50;

/** What stands for the calls where the program has its own form of stacks. */
const NO_TEXT = "    (unknown: Error.prepareStackTrace of this program returns no text)";

/** Undefined until the variable was looked at. */
let isTracing: boolean | undefined;

/**
 * From now on, the warning of an object that was never disposed says where it was made, if it was made from now on. The
 * same as the variable SAMEPAGE_TRACE_FORGOTTEN=1, for programs that may not read the environment. It costs a stack for
 * each object, about 70 µs.
 *
 * @throws {ArgumentError} if `on` is not a boolean.
 *
 * @example
 * ```ts
 * import { host, traceForgotten } from "@samepage/interop";
 *
 * traceForgotten(); // while you look for objects that are never disposed
 * using tensor = host.allocate({ shape: [16], dtype: "u8" });
 * traceForgotten(false);
 * ```
 */
export function traceForgotten(on: boolean = true): void {
  if (typeof on !== "boolean") throw unexpected("on", "a boolean", on);
  isTracing = on;
}

/** One line for each of the program's calls; undefined unless they were asked for. */
export function originOf(): string | undefined {
  isTracing ??= environmentInWords(VARIABLE) === "1";
  return isTracing ? callsOfProgram() : undefined;
}

export function originInWords(origin: string | undefined): string {
  return origin === undefined ? ` ${VARIABLE}=1 says where it was made.` : ` It was made here:\n${origin}`;
}

/** Programs may replace what V8 asks for a stack, and freeze Error. Whatever they do, an object is made without a throw. */
function callsOfProgram(): string {
  const { stackTraceLimit } = Error;
  try {
    Reflect.set(Error, "stackTraceLimit", MAX_CALLS);
    const { stack } = new Error(); // as text: V8's own form of a stack keeps the objects alive whose methods it shows
    if (typeof stack !== "string") return NO_TEXT;
    const own = new URL("../../../", import.meta.url).href; // where samepage's own modules are
    const ownCall = new RegExp(`${RegExp.escape(own)}(src/|mod\\.ts:)`);
    const calls = stack.split("\n").slice(1).filter((call) => !ownCall.test(call));
    return calls.slice(0, stackTraceLimit).join("\n");
  } catch {
    return NO_TEXT;
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}

/**
 * The safety net for objects that a program forgets to dispose. It holds their resources, so a resource must not reach its
 * object. An explicit dispose unregisters the object first.
 */
export const finalizers: FinalizationRegistry<Resource> = new FinalizationRegistry((resource) => resource.finalize());

/** What is known of a context after it. */
type Remembered = Pick<Resource, "name" | "origin">;

/** It cannot end contexts, because the objects in a context reach it, as its resource does: it only warns. */
const contexts: FinalizationRegistry<Remembered> = new FinalizationRegistry(({ name, origin }) => {
  warn(`${name} was never disposed; its native objects stay. Use \`using\` or dispose it.${originInWords(origin)}`);
});

export function registerContext(context: object, resource: Resource): void {
  const { name, origin, undo } = resource;
  contexts.register(context, { name, origin }, resource);
  undo.push(() => void contexts.unregister(resource)); // the end of what it stands on ends it, too
}

/** It was disposed: takes it out of both registries of the garbage collector. */
export function disposed(object: { readonly resource: Resource }): void {
  finalizers.unregister(object);
  contexts.unregister(object.resource);
}

/** What lives as long as another object. */
const kept = new WeakMap<object, object>();

/** Keeps an object alive for as long as another is: the end of a pool would end what a program has taken from it. */
export function keepFor(user: object, object: object): void {
  kept.set(user, object);
}

/**
 * The objects made in this job of the event loop, and not disposed yet, and their resources, which know their places. The
 * lists keep their room until the end of the job: V8 would give it back with each pop(), and each push() would allocate.
 */
const fresh: { readonly objects: (object | undefined)[]; readonly resources: (Resource | undefined)[] } = {
  objects: [],
  resources: [],
};
let freshCount = 0;

/** Places of a resource whose object is not fresh: neither it nor a token is registered, the object is, or its token is. */
export const NOWHERE = -1;
const REGISTERED = -2;
const BY_TOKEN = -3;

/** True while the end of this job is awaited. */
let awaited = false;

/**
 * Registers an object at the end of this job. Finalizers run between jobs, and most maps have ended by then: they never
 * enter the registry, which would cost more than the rest of the map.
 */
export function registerLater(object: object, resource: Resource): void {
  const place = freshCount++;
  fresh.objects[place] = object;
  fresh.resources[place] = resource;
  resource.place = place;
  if (awaited) return;
  awaited = true;
  queueMicrotask(registerFresh);
}

/** Stops watching a resource whose object was disposed, or ends with another one. `holder` gives a token back. */
export function unregister(resource: Resource, holder?: Holder): void {
  const { place } = resource;
  if (place === NOWHERE) return;
  resource.place = NOWHERE;
  if (place === REGISTERED) return void finalizers.unregister(resource);
  if (place === BY_TOKEN) return resource.tokenHome!.forget(resource, holder);
  const { objects, resources } = fresh;
  const last = --freshCount;
  if (place < last) {
    objects[place] = objects[last];
    resources[place] = resources[last];
    resources[place]!.place = place;
  }
  objects[last] = undefined;
  resources[last] = undefined;
}

function registerFresh(): void {
  awaited = false;
  const { objects, resources } = fresh;
  for (let i = 0; i < freshCount; i++) {
    const resource = resources[i]!;
    resource.place = REGISTERED;
    finalizers.register(objects[i]!, resource, resource);
  }
  objects.length = resources.length = freshCount = 0;
}

/** What the registry holds for a token: the resource whose object holds that token. */
interface Lent {
  resource: Resource | undefined;
}

const tokens: FinalizationRegistry<Lent> = new FinalizationRegistry(({ resource }) => resource?.finalize());

/** The registry watches a token in place of the object that holds it. */
export interface Token {
  readonly lent: Lent;
}

/** An object that may hold a token. */
interface Holder {
  token?: Token | undefined;
}

/**
 * Keeps the token of memory that is lent repeatedly, between two lends. Registering each lent object takes a twentieth of a
 * ring's turn, so one token is registered, once. Only the lent object holds the token: if the program forgets the object,
 * both are collected together. The object's dispose gives the token back.
 */
export class TokenHome {
  #token: Token | undefined;
  /** Belongs to the token that was taken last. Holding the token itself here would keep it from being collected. */
  #lent: Lent | undefined;

  /** Returns the token, for the object of a resource. */
  take(resource: Resource): Token {
    const token = this.#token ?? this.#made();
    this.#token = undefined;
    this.#lent = token.lent;
    token.lent.resource = resource;
    resource.place = BY_TOKEN;
    return token;
  }

  /** Called once the resource's object needs no finalizer. An object that was disposed gives its token back. */
  forget(resource: Resource, holder: Holder | undefined): void {
    if (holder?.token === undefined) {
      if (this.#lent?.resource === resource) this.#lent.resource = undefined;
      return;
    }
    this.#token = holder.token;
    this.#token.lent.resource = undefined;
    holder.token = undefined;
  }

  #made(): Token {
    const token: Token = { lent: { resource: undefined } };
    tokens.register(token, token.lent);
    return token;
  }
}
