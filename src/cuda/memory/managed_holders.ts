import type { Allocation } from "../../core/memory/allocation.ts";
import { nameOf } from "../../core/graph/context.ts";
import { AccessError } from "../../core/errors.ts";
import type { Grant } from "../../core/memory/grant.ts";
import type { Resource } from "../../core/life/resource.ts";

export function holdersOf({ roots, lends }: Allocation): Resource[] {
  const grants = new Set<Grant>(lends); // the peers of a loan share what they lend
  for (const grant of grants) for (const lent of grant.lends) grants.add(lent);
  return [...roots, ...grants].flatMap(({ resource }) => resource ?? []); // a map in the making has none
}

/** Why the CPU cannot be kept from a block: a promise or another API holds it, and may use it at any time. */
export function unstoppable(allocation: Allocation): AccessError | undefined {
  const holders = holdersOf(allocation);
  const lent = holders.find(({ held }) => held);
  if (lent !== undefined) {
    return new AccessError(`${lent.name} is lent to a promise: the device cannot run until it settles.`, {
      api: "cuda",
      hint: "Await it first, or attach the memory to the host until then.",
    });
  }
  for (const { target, purpose } of holders) {
    if (target === undefined || target.context.api === "cuda" || target.context.api === "host") continue;
    const whose = `${purpose.name} may be used by ${nameOf(target)} at any time`;
    return new AccessError(`${whose}: the device cannot run until it is disposed.`, {
      api: "cuda",
      hint: "Dispose it first, or attach the memory to the host before mapping it.",
    });
  }
  return undefined;
}
