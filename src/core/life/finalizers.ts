import { warn } from "../warn.ts";
import { originInWords } from "./origin.ts";
import type { Resource } from "./resource.ts";

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

export function registerContext(context: object, { name, origin }: Resource): void {
  contexts.register(context, { name, origin }, context);
}

/** It was disposed: takes it out of both registries of the garbage collector. */
export function disposed(object: object): void {
  finalizers.unregister(object);
  contexts.unregister(object);
}

/** What lives as long as another object. */
const kept = new WeakMap<object, object>();

/** Keeps an object alive for as long as another is: the end of a pool would end what a program has taken from it. */
export function keepFor(user: object, object: object): void {
  kept.set(user, object);
}

/** A short-lived object: it reaches {@link finalizers} only if it outlives this job of the event loop. */
export interface Registration {
  readonly object: object;
  readonly resource: Resource;
  place: number;
}

/** The objects made in this job of the event loop, and not disposed yet. */
const fresh: Registration[] = [];

/** True while the end of this job is awaited. */
let awaited = false;

/**
 * Registers an object at the end of this job. Finalizers run between jobs, and most maps have ended by then: they never
 * enter the registry, which would cost more than the rest of the map.
 */
export function registerLater(object: object, resource: Resource): Registration {
  const registration = { object, resource, place: fresh.length };
  fresh.push(registration);
  if (!awaited) {
    awaited = true;
    queueMicrotask(registerFresh);
  }
  return registration;
}

export function unregister(registration: Registration): void {
  const { place, resource } = registration;
  if (place < 0) {
    finalizers.unregister(resource);
    return;
  }
  registration.place = -1;
  const last = fresh.pop()!;
  if (last === registration) return;
  fresh[place] = last;
  last.place = place;
}

function registerFresh(): void {
  awaited = false;
  for (const registration of fresh.splice(0)) {
    registration.place = -1;
    finalizers.register(registration.object, registration.resource, registration.resource);
  }
}
