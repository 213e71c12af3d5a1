import { type Address, NULL } from "../../ffi/address.ts";
import { ARROW_DEVICE_CPU } from "../../ffi/arrow/constants.ts";
import { ArrowArray, ArrowDeviceArray, ArrowSchema, readArrowDeviceArray } from "../../ffi/arrow/structs.ts";
import { type Names, optionsIn } from "../core/argument.ts";
import { contextsIn } from "../core/device/arrays.ts";
import type { Fence } from "../core/device/fence.ts";
import type { Arrays } from "../core/contract.ts";
import type { Context } from "../core/graph/context.ts";
import type { TableInfo } from "../core/layout/frame_info.ts";
import { allOrNothing, newUndo, type Undo, undoAll } from "../core/life/undo.ts";
import { type Access, accessOf } from "../core/memory/access.ts";
import { copyOf, isReadOnly, readObject } from "../core/native/foreign_addresses.ts";
import { viewAt } from "../core/native/pin.ts";
import { givesBack } from "../core/tensors/adopt.ts";
import { Frame } from "../core/tensors/frame.ts";
import type { Tensor } from "../core/tensors/tensor.ts";
import { checks, devices, NO_NUMBER } from "./formats.ts";
import { OwnedStructs } from "./owned_structs.ts";
import { readArray, type ReadColumn } from "./read.ts";

/** Options of {@link fromArrow}. */
export interface FromArrowOptions {
  /** The contexts that the tensors may belong to: `host`, and a CUDA context for each device. */
  readonly contexts: readonly Context[];
  /** True if the array is an `ArrowDeviceArray`, which names its device. False by default. */
  readonly device?: boolean;
  /**
   * How the bytes may be used; `"read"` by default, because Arrow's arrays are immutable. Pass `"read-write"` if their
   * producer lets you write them.
   */
  readonly access?: Access;
}

const OPTIONS: Names<FromArrowOptions> = { contexts: true, device: true, access: true };

/**
 * A tensor over another library's array, in place, or a frame over a record batch, whose planes are the batch's columns: by
 * an `ArrowSchema` and an `ArrowArray` (Arrow's C data interface). Both structs are moved: once this returns, the caller's
 * are marked as released, and the producer's release function runs when the last tensor has ended, after all work. If this
 * throws, both are still the caller's.
 *
 * The elements may be numbers, fixed-size lists of numbers, and the extension type arrow.fixed_shape_tensor.
 *
 * @param schema the address of the `ArrowSchema`
 * @param array the address of the `ArrowArray`, or with `device` of the `ArrowDeviceArray`
 * @throws {ArgumentError} for structs that cannot be read or contradict themselves, nulls, and elements that no tensor has;
 * for a device without a context among `contexts`; for wrong options.
 * @throws {LayoutError} for elements that are not aligned, and for more bytes than a tensor can have.
 * @throws {DisposedError} if a context was disposed.
 * @throws {NativeCallError} if memory runs out.
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
  const all = contextsIn(checks, contexts);
  const [type, data] = [checks.handleIn<Address>(schema, "schema"), checks.handleIn<Address>(array, "array")];
  const read = readArray(type, data);
  assertMovable(type, ArrowSchema.size, "schema");
  assertMovable(data, ArrowArray.size, "array");
  const said = device ? deviceAt(data) : THE_CPU;
  const [{ address: first }] = read.columns;
  const { arrays, memory } = devices.arraysIn(all, said.device_type, Number(said.device_id), "array", first);
  return allOrNothing("attaching an Arrow array", (undo) => {
    const structs = newUndo();
    const owned = new OwnedStructs(structs);
    undo.push(() => undoAll(structs, "releasing an Arrow array"));
    const drop = dropping(structs, read.columns.length + 1); // one hold is this function's
    const work = workBehind(arrays, said.sync_event);
    const tensors = read.columns.map(({ address, layout }) => {
      const tensor = arrays.attach({ handle: address, byteOffset: 0, memory }, layout, {
        access: wanted,
        ...work,
      });
      givesBack(tensor, drop);
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

const THE_CPU = { device_type: ARROW_DEVICE_CPU, device_id: NO_NUMBER, sync_event: NULL };

/**
 * Returns a function that releases the structs at the last of `holds` calls. It is made here because the closure must not
 * hold the tensors, whose ends call it.
 */
function dropping(structs: Undo, holds: number): () => void {
  let held = holds;
  return () => void (--held === 0 && undoAll(structs, "releasing an Arrow array"));
}

/** @throws {ArgumentError} for a struct in read-only memory: marking it as moved would crash the process. */
function assertMovable(address: Address, byteLength: number, argument: string): void {
  if (!isReadOnly(address, byteLength)) return;
  throw checks.wrong(
    argument,
    "it lies in memory that is read-only, and cannot be moved.",
    "Copy the struct elsewhere.",
  );
}

/** Moves a struct: copies it to `owned`, and marks the caller's as released. */
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
  return readArrowDeviceArray(readObject(array, ArrowDeviceArray.size, "arrow", "array"), 0);
}

/** The producer's work in flight, as an event: a CUDA array's `sync_event` points to a `cudaEvent_t`. */
function workBehind({ event }: Arrays, sync: Address): { readonly after?: Fence } {
  if (sync === NULL) return {};
  if (event === undefined) throw checks.wrong("array", "its sync_event is not null, and its device has no events.");
  const handle = readObject(sync, 8, "arrow", "array").getBigUint64(0, true);
  return { after: event(checks.handleIn(handle, "array")) };
}

function tableOf(columns: readonly ReadColumn[]): TableInfo {
  return {
    ...{ type: "table", format: "arrow", rows: columns[0].layout.shape[0] },
    columns: columns.map(({ name, layout: { dtype, shape: [, ...shape] } }) => ({ name, dtype, shape })),
  };
}
