import type { Tensor } from "@samepage/interop";
import type { MemoryTarget } from "../../src/core/contract.ts";
import { portsOf } from "../../src/core/graph/context.ts";
import type { HasLine } from "../../src/core/device/semaphore.ts";
import { Allocation } from "../../src/core/memory/allocation.ts";
import type { Undo } from "../../src/core/life/undo.ts";
import { own } from "../../src/core/memory/own.ts";
import { tensorOver } from "../../src/core/tensors/over.ts";

/** Memory that was imported by hand. */
export interface Apart extends Disposable {
  /** Its bytes, which samepage takes for others than the exporter's. */
  readonly tensor: Tensor;
}

/**
 * Imports a tensor's memory by its opaque fd as if that had come from elsewhere: as samepage takes the two for different
 * memory, nothing on the one waits for the other. It is acquired, and handed back when it is disposed.
 */
export function importedApart(source: Tensor, target: MemoryTarget & HasLine): Apart {
  const from = portsOf(source.target)!;
  const { byteLength } = source.grant.allocation.block;
  const undo: Undo = [];
  const exported = from.export!(source, "opaque-fd", byteLength, "read-write", false);
  using port = exported.port;
  const released = exported.begin?.();
  if (released !== undefined) from.line!.submitRaw(released).waitSync();
  const imported = target.ports.import!(port, "read-write");
  undo.push(() => imported.release?.());
  const acquired = imported.begin?.();
  if (acquired !== undefined) target.line.submitRaw(acquired).waitSync();
  const handedBack = imported.end?.();
  if (handedBack !== undefined) undo.push(() => target.line.submitRaw(handedBack).waitSync());
  const allocation = new Allocation({ kind: "test.imported", byteLength, free: () => {} });
  const resource = own({
    name: `${target.kind} tensor from elsewhere`,
    allocation,
    owners: [target.context.resource],
    undo,
  });
  const tensor = tensorOver(target, { handle: imported.handle, layouts: [source.layout], resource }) as Tensor;
  return { tensor, [Symbol.dispose]: () => tensor[Symbol.dispose]() };
}
