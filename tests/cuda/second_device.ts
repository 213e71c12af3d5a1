// A program that uses the second device alone: it fails where that gives the first one a context.
import { CudaContext } from "@samepage/interop/cuda";
import { primaryState } from "../../src/cuda/primary_context.ts";
import { OPERATIONS } from "./usage.ts";

function assertAlone(after: string): void {
  if (primaryState(0).active) throw new Error(`Device 0 has a context, after ${after}.`);
}

{
  await using cuda = CudaContext.open({ ordinal: 1 });
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    await operation(cuda);
    assertAlone(name);
  }
}
assertAlone("the end of device 1's");
