/**
 * Runs an example as its users do, and says at last how often CUDA was asked to copy, and to launch a kernel. SAMEPAGE_EXAMPLE
 * is the example's folder; what it takes are the arguments.
 *
 * @module
 */
import { setTap } from "../../../src/core/native/library.ts";

// deno-lint-ignore no-explicit-any -- a native function of any signature
type Native = (...args: any[]) => unknown;

const COPIES = /^cu(?:da)?Memcpy/;
const LAUNCHES = /^(?:cudaLaunchKernel|cuLaunchKernel)/;

const counted = { copies: 0, launches: 0 };

setTap((api, functions) => {
  if (api !== "cudart" && api !== "cuda") return functions;
  return Object.fromEntries(
    Object.entries(functions).map(([name, real]) => {
      const kind = COPIES.test(name) ? "copies" : LAUNCHES.test(name) ? "launches" : undefined;
      if (kind === undefined || typeof real !== "function") return [name, real];
      return [name, (...args: unknown[]) => {
        counted[kind]++;
        return (real as Native)(...args);
      }];
    }),
  );
});

await import(`../../../examples/${Deno.env.get("SAMEPAGE_EXAMPLE")}/main.ts`);
console.log(`counted  ${JSON.stringify(counted)}`);
