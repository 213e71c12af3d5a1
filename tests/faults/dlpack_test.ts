/** Every native call of a loan, and of what a producer lends, fails once. */
import { assert, assertEquals } from "@std/assert";
import { host, type Tensor } from "../../mod.ts";
import { fromDLPack, toDLPack } from "../../src/dlpack/mod.ts";
import { OpenCLContext } from "../../src/opencl/mod.ts";
import { peer } from "../dlpack/peer.ts";
import { sweep } from "./sweep.ts";
import { installTap } from "./tap.ts";

installTap();

const MATRIX = { shape: [2, 3], dtype: "f32" } as const;

function test(name: string, operation: () => void, intact: () => void = () => {}): void {
  Deno.test(`faults: ${name}`, async () => {
    operation();
    const faults = await sweep(operation, intact, ["libc.madvise"]); // the list of mappings is read instead
    assert(faults.length > 0, "it makes no native call");
  });
}

test("toDLPack, and the consumer's release", () => {
  using tensor = host.allocate(MATRIX);
  const loan = toDLPack(tensor);
  peer.lend_and_release(loan.handOver());
  tensor.view().fill(1);
});

let made = 0;

test("fromDLPack: what was not taken is still the caller's, and else the deleter is called once", () => {
  const address = peer.produce(0n);
  made++;
  const before = peer.deleted();
  let isTaken = false;
  try {
    const tensor = fromDLPack(address, { contexts: [host] });
    isTaken = true;
    tensor[Symbol.dispose]();
  } finally {
    assertEquals(peer.deleted(), before + Number(isTaken));
    if (!isTaken) peer.lend_and_release(address);
  }
}, () => assertEquals(peer.deleted(), made));

Deno.test("faults: a buffer of OpenCL's, lent and taken back", async () => {
  using cl = OpenCLContext.open();
  using tensor = cl.allocate(MATRIX);
  const operation = () => {
    const struct = toDLPack(tensor).handOver();
    let back: Tensor | undefined;
    try {
      back = fromDLPack(struct, { contexts: [cl] });
    } finally {
      if (back === undefined) peer.lend_and_release(struct);
      else back[Symbol.dispose]();
    }
  };
  operation();
  cl.queue.finish();
  const faults = await sweep(operation, () => {
    cl.queue.fill(tensor, 2);
    cl.queue.finish();
  });
  assert(
    faults.some(({ call, error }) => call.startsWith("opencl.") && error !== undefined),
    "OpenCL is asked nothing",
  );
});
