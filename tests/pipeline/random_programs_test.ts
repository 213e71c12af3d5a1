// Chains of stages at random, against a model; random_programs.ts runs more of them by hand.
import { assert } from "@std/assert";
import { HERE } from "../opencl/help.ts";
import { withEmptyLedger } from "../unit/ledger.ts";
import { runPrograms, toolsIn } from "./random_programs.ts";

const PROGRAMS = 150;

Deno.test(
  "pipeline: random chains of stages give the frames that arithmetic gives, however they end",
  withEmptyLedger(async () => {
    using open = new DisposableStack();
    const tools = toolsIn(open, HERE.includes("pocl"));
    const counts = await runPrograms(tools, Array.from({ length: PROGRAMS }, (_, i) => i + 1));
    for (const outcome of ["ended well", "throw", "aborted"]) {
      assert(counts[outcome] > 0, `none of ${JSON.stringify(counts)} is "${outcome}"`);
    }
  }),
);
