import { warn } from "../warn.ts";
import type { Resource } from "./resource.ts";

/**
 * The safety net for what a program forgets to dispose. Whoever registers an object holds its resource here, so
 * nothing in that resource may reach the object; an explicit dispose unregisters it first.
 */
export const finalizers: FinalizationRegistry<Resource> = new FinalizationRegistry((resource) => resource.finalize());

/**
 * The same for contexts, by their names: what lives in a context reaches it, so its end cannot be driven from here. It is
 * only told that there was one.
 */
export const forgotten: FinalizationRegistry<string> = new FinalizationRegistry((name) => {
  warn(`${name} was never disposed; its native objects stay. Use \`using\` or dispose it.`);
});

/** An object that is made and disposed all the time: {@link finalizers} are told of it when this job ends. */
export interface Registration {
  readonly object: object;
  readonly resource: Resource;
  /** Its index among the fresh; -1 once it is none of them. */
  place: number;
}

/** What was made in this job of the event loop, and not disposed. */
const fresh: Registration[] = [];

/** Is the end of this job awaited? */
let awaited = false;

/**
 * Registers an object at the end of this job: finalizers run between jobs only, and most maps have ended by then. That
 * saves them the registry, which takes longer than all else that a map is made of.
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

/** The object was disposed. Idempotent. */
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
