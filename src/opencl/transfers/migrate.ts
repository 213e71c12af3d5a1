import {
  CL_MEM_SIZE,
  CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED,
  CL_MIGRATE_MEM_OBJECT_HOST,
} from "../../../ffi/opencl/constants.ts";
import type { Call } from "../../core/contract.ts";
import type { Use } from "../../core/device/line.ts";
import type { CommandOptions } from "../../core/device/queue.ts";
import { reads } from "../../core/memory/access.ts";
import { type Names, shown } from "../../core/argument.ts";
import { isGapless } from "../../core/layout/layout.ts";
import { checks, refused } from "../check.ts";
import { infoU64 } from "../info.ts";
import { opencl } from "../library.ts";
import type { BaseContext } from "../base_context.ts";
import type { ClLane } from "../lane.ts";
import type { BufferTensor } from "../buffers/tensor.ts";
import { assertBuffer, usable } from "./commands.ts";

/** Options of {@link OpenCLQueue.migrate}. */
export interface MigrateOptions extends CommandOptions {
  /** The place of the next use. */
  readonly to: "device" | "host";
  /** True if the contents may be lost: they are undefined then. False by default. */
  readonly contentUndefined?: boolean;
}

export const MIGRATE_OPTIONS: Names<MigrateOptions> = { to: true, contentUndefined: true, after: true };

const FN = "clEnqueueMigrateMemObjects";

const FLAGS: { readonly [To in MigrateOptions["to"]]: bigint } = { device: 0n, host: CL_MIGRATE_MEM_OBJECT_HOST };

/** A program that passes more has made a mistake. */
const MAX_TENSORS = 65_536;

/** The command that moves the buffers of tensors to the device or the host, and what it uses. */
export function migration(
  context: BaseContext,
  tensors: readonly BufferTensor[],
  { to, contentUndefined = false }: MigrateOptions,
): { readonly uses: readonly Use<BufferTensor>[]; readonly call: Call<ClLane> } {
  checks.nameIn(to, FLAGS, "to");
  checks.assertBoolean(contentUndefined, "contentUndefined");
  const uses = usesOf(context, tensors, contentUndefined);
  if (contentUndefined) { for (const { tensor, argument } of uses) assertWhole(tensor, argument); }
  const handles = new BigUint64Array([...new Set(uses.map(({ tensor }) => tensor.rawHandle))]);
  const flags = FLAGS[to] | (contentUndefined ? CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED : 0n);
  const call = ({ queue, waitCount, waitList, slot }: ClLane) =>
    opencl()[FN](queue, handles.length, handles, flags, waitCount, waitList, slot);
  return { uses, call: { fn: FN, call } };
}

function usesOf(context: BaseContext, given: readonly BufferTensor[], contentUndefined: boolean): Use<BufferTensor>[] {
  if (!Array.isArray(given)) throw refused(FN, "tensors", `expected an array, got ${shown(given)}.`);
  const { length } = given;
  if (length < 1 || length > MAX_TENSORS) {
    throw refused(FN, "tensors", `expected 1 to ${MAX_TENSORS}, got ${length}.`);
  }
  const uses: Use<BufferTensor>[] = [];
  for (let i = 0; i < length; i++) {
    const tensor: BufferTensor = given[i];
    const argument = `tensors[${i}]`;
    assertBuffer(tensor, argument);
    const access = !contentUndefined && reads(tensor.access) ? "read" : "write";
    uses.push(usable(tensor, access, argument, context));
  }
  return uses;
}

/** A buffer moves whole. Its contents may be lost only if the tensor covers all of it. */
function assertWhole({ name, layout, rawHandle }: BufferTensor, argument: string): void {
  const size = infoU64(
    "clGetMemObjectInfo",
    (query, length, value, written) => opencl().clGetMemObjectInfo(rawHandle, query, length, value, written),
    CL_MEM_SIZE,
  );
  if (isGapless(layout) && BigInt(layout.byteLength) === size) return;
  throw checks.unfit(
    argument,
    `${name} is not all of its buffer, which has ${size} bytes.`,
    "Migrate it with its contents.",
    FN,
  );
}
