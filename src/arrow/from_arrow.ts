import { type Address, NULL } from "../../ffi/address.ts";
import { ARROW_DEVICE_CPU } from "../../ffi/arrow/constants.ts";
import { ArrowArray, ArrowDeviceArray, ArrowSchema, readArrowDeviceArray } from "../../ffi/arrow/structs.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import type { MemoryTarget } from "../core/contract.ts";
import { contextOn } from "../core/device/device_on.ts";
import type { Context } from "../core/graph/context.ts";
import type { Layout, LayoutInit } from "../core/layout/layout.ts";
import type { TableInfo } from "../core/layout/frame_info.ts";
import { allOrNothing, newUndo, type Undo, undoAll } from "../core/life/undo.ts";
import { type Access, accessOf } from "../core/memory/access.ts";
import { closedAt } from "../core/memory/peers.ts";
import { copyOf, probeObject, probePages } from "../core/native/foreign_addresses.ts";
import { viewAt } from "../core/native/pin.ts";
import { adoptTensor, attaching, type AttachOptions } from "../core/tensors/adopt.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { APIS, checks, ordinalOf } from "./formats.ts";
import { OwnedStructs } from "./owned_structs.ts";
import { readArray, type ReadColumn } from "./read.ts";

/** Options of {@link fromArrow}. */
export interface FromArrowOptions {
  /** Where the tensors may be: `host`, and CUDA contexts, of which the array's device is taken. */
  readonly contexts: readonly Context[];
  /** True if the array is an `ArrowDeviceArray`, which says on which device it is. */
  readonly device?: boolean;
  /**
   * How it may be used; `"read"` by default, because Arrow's arrays are not to change. Pass `"read-write"` if their producer
   * lets you write them.
   */
  readonly access?: Access;
}

const OPTIONS: Names<FromArrowOptions> = { contexts: true, device: true, access: true };

/**
 * A tensor over an array of other code's, in place, or a frame over a record batch, whose planes are its columns: by an
 * `ArrowSchema` and an `ArrowArray` (Arrow's C data interface). Both structs are moved: once this returns, the caller's are
 * released, and the producer's release function runs when the last tensor has ended, after all work. Where this throws,
 * both are still the caller's.
 *
 * Numbers can be shared, lists of a fixed size of them, and the extension type arrow.fixed_shape_tensor.
 *
 * @param schema the address of the `ArrowSchema`
 * @param array the address of the `ArrowArray`, or with `device` of the `ArrowDeviceArray`
 * @throws {ArgumentError} for what cannot be read, contradicts itself, has nulls, or elements that no tensor has; for a
 * device that no context here has, and one that has to be waited for; for wrong options.
 * @throws {LayoutError} for elements that are not aligned, and for more than a tensor can have.
 * @throws {DisposedError} if a context was disposed.
 * @throws {NativeCallError} if there is no memory.
 *
 * @example
 * ```ts
 * import { host } from "@samepage/interop";
 * import { fromArrow, toArrow } from "@samepage/interop/arrow";
 *
 * using samples = host.wrap(new Int16Array([1, 2, 3]));
 * using theirs = toArrow(samples); // by another library, as a rule
 * using tensor = fromArrow(theirs.schema, theirs.array, { contexts: [host] });
 * console.log(host.is(tensor) && tensor.view({ access: "read" })); // Int16Array(3) [ 1, 2, 3 ]
 * ```
 */
export function fromArrow(schema: bigint, array: bigint, options: FromArrowOptions): Tensor | Frame {
  const { contexts, device = false, access } = optionsIn(options, OPTIONS);
  checks.assertBoolean(device, "device");
  const wanted = accessOf(access, "read");
  if (!Array.isArray(contexts)) throw checks.wrongKind("contexts", "an array of contexts", contexts);
  const all = checks.itemsIn<Context>(contexts, "contexts").map((context) => contextOn(checks, context));
  const [type, data] = [checks.handleIn<Address>(schema, "schema"), checks.handleIn<Address>(array, "array")];
  const read = readArray(type, data);
  const context = contextFor(all, device ? deviceAt(data) : { device_type: ARROW_DEVICE_CPU, device_id: -1n });
  const attach = context.api === "host" ? attachHost : attachDevice;
  return allOrNothing("attaching an Arrow array", (undo) => {
    const structs = newUndo();
    const owned = new OwnedStructs(structs);
    undo.push(() => undoAll(structs, "releasing an Arrow array"));
    const drop = dropping(structs, read.columns.length + 1); // the last hold is this function's
    const tensors = read.columns.map((column) => {
      const tensor = attach(context, column, wanted, drop);
      undo.push(() => tensor[Symbol.dispose]());
      return tensor;
    });
    const made = read.isBatch ? Frame.of(tensors, tableOf(read.columns)) : tensors[0];
    take(owned, "array", data, ArrowArray);
    take(owned, "schema", type, ArrowSchema);
    drop();
    return made;
  });
}

/** Releases the structs when it was called so many times. It is apart: the owner of a tensor must not reach it. */
function dropping(structs: Undo, holds: number): () => void {
  let held = holds;
  return () => void (--held === 0 && undoAll(structs, "releasing an Arrow array"));
}

/** Moves a struct: what its release function is called with from now on. */
function take(
  owned: OwnedStructs,
  which: "schema" | "array",
  address: Address,
  { size, fields: { release } }: typeof ArrowSchema | typeof ArrowArray,
): void {
  owned.set(which, copyOf(address, size));
  const view = viewAt(address, size, "arrow");
  view.setBigUint64(release.offset, NULL, true);
  view.buffer.transfer(0); // the struct is the caller's
}

function deviceAt(array: Address) {
  probeObject(array, ArrowDeviceArray.size, "arrow", "array");
  const said = readArrowDeviceArray(new DataView(copyOf(array, ArrowDeviceArray.size).buffer), 0);
  if (said.sync_event === NULL) return said;
  throw checks.wrong(
    "array",
    "its sync_event says that its producer's work is in flight.",
    "Wait for it first (cudaEventSynchronize), and pass a struct whose sync_event is null.",
  );
}

interface Device {
  readonly device_type: number;
  readonly device_id: bigint;
}

function contextFor(contexts: readonly Context[], { device_type, device_id }: Device): Context {
  const api = APIS.get(device_type);
  if (api === undefined) throw checks.wrong("array", `no memory here is of Arrow's device type ${device_type}.`);
  const found = contexts.find((one) => one.api === api && (api === "host" || ordinalOf(one) === device_id));
  if (found !== undefined) return found;
  const device = api === "host" ? "of the host" : `of ${api}'s device ${device_id}`;
  throw checks.wrong("contexts", `the array is memory ${device}, and no context is.`, "Pass that context.");
}

function tableOf(columns: readonly ReadColumn[]): TableInfo {
  return {
    ...{ type: "table", format: "arrow", rows: columns[0].layout.shape[0] },
    columns: columns.map(({ name, layout: { dtype, shape: [, ...shape] } }) => ({ name, dtype, shape })),
  };
}

/** Makes the tensor of a column, at whose end `owner` is called. */
type Attach = (context: Context, column: ReadColumn, access: Access, owner: () => void) => Tensor;

const attachHost: Attach = (context, { address, layout }, wanted, owner) =>
  attaching({ access: wanted, owner }, (access) => {
    assertOpen(address, layout);
    const block = { kind: "host.arrow", address, byteLength: layout.byteLength };
    const object = { handle: address, release() {} }; // `owner` releases it, at the tensor's end
    return adoptTensor(context as unknown as MemoryTarget, object, { handle: address, layout, block }, { access });
  });

function assertOpen(address: Address, { byteLength }: Layout): void {
  const closed = closedAt(address, byteLength);
  if (closed !== undefined) throw checks.wrong("array", closed.reason, closed.remedy);
  probePages(address, byteLength, "arrow", "array");
}

interface Attaching extends Context {
  attach(address: bigint, init: LayoutInit, options: AttachOptions): Tensor;
}

const attachDevice: Attach = (context, { address, layout: { shape, dtype } }, access, owner) =>
  (context as Attaching).attach(address, { shape, dtype }, { access, owner });
