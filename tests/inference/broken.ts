import { InteropError } from "../../mod.ts";
import type { InferenceContext } from "../../src/inference/context.ts";
import type { Session } from "../../src/inference/session.ts";

/** The most elements of an input along a dimension: a model may ask for any number. */
const MOST = 64;

/**
 * Compiles and runs a model with wrong bytes, from one seed to another, as the arguments say. Prints the outcome of each,
 * because the runtime may end the process.
 */
export function runBroken<C extends InferenceContext>(
  open: () => C,
  compile: (context: C, seed: number) => Session,
): void {
  const [from, to] = Deno.args.map(Number);
  for (let seed = from; seed < to; seed++) {
    console.log(`${seed} begins`);
    console.log(`${seed} ${outcomeOf(open, (context) => compile(context, seed))}`);
  }
}

function outcomeOf<C extends InferenceContext>(open: () => C, compile: (context: C) => Session): string {
  try {
    using context = open();
    using session = compile(context);
    using inputs = new DisposableStack();
    const given = session.inputs.map(({ name, shape, dtype }) => {
      const sizes = shape.map((n) => n === -1 ? 2 : Math.min(n, MOST));
      return [name, inputs.use(context.allocate({ shape: sizes, dtype }))] as const;
    });
    for (const tensor of Object.values(session.run(Object.fromEntries(given)))) inputs.use(tensor);
    return "ran";
  } catch (error) {
    if (error instanceof InteropError) return error.constructor.name;
    throw error;
  }
}
