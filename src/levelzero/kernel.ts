import type { Address } from "../../ffi/address.ts";
import type { ZeKernelHandle } from "../../ffi/levelzero/handles.ts";
import * as layouts from "../../ffi/levelzero/structs.ts";
import type { Names } from "../core/argument.ts";
import type { Call } from "../core/contract.ts";
import { Arguments } from "../core/device/arguments.ts";
import { rangeIn, Sizes } from "../core/device/grid.ts";
import { type Parameter, type ParameterPlace, ValueParameter } from "../core/device/parameter.ts";
import { owned } from "../core/life/ledger.ts";
import { allOrNothing, type Undo } from "../core/life/undo.ts";
import type { Struct } from "../core/native/struct.ts";
import { cString } from "../core/native/text.ts";
import { UnifiedParameter } from "../core/tensors/unified_device.ts";
import { type KernelOptions, UnifiedKernel } from "../core/tensors/unified_kernel.ts";
import type { SpirvParameter } from "../spirv/kernels.ts";
import type { LevelZeroContext } from "./context.ts";
import { type LevelZeroLane, signalling } from "./lane.ts";
import { check, checks, levelZero, made } from "./library.ts";
import type { LevelZeroProgram } from "./program.ts";
import { LevelZeroQueue } from "./queue.ts";
import { struct } from "./struct.ts";
import { LEVELZERO_USM, type LevelZeroTensor } from "./usm.ts";

const FN = "zeCommandListAppendLaunchKernel";

/** A kernel argument: a tensor for a pointer; a number or bigint for a number, an array of them for a vector, or its bytes. */
export type LevelZeroArgument =
  | LevelZeroTensor
  | number
  | bigint
  | readonly (number | bigint)[]
  | ArrayBufferView<ArrayBuffer>;

/** The number of work groups to run, and the work-items of each. */
export interface LevelZeroRange {
  /** The work groups along each of 1 to 3 dimensions. */
  readonly groups: readonly number[];
  /** The work-items of each along the same dimensions; 1 by default. */
  readonly groupSize?: readonly number[];
}

const RANGE: Names<LevelZeroRange> = { groups: true, groupSize: true };

/** Options of {@link LevelZeroKernel.run}. */
export type LevelZeroRunOptions = KernelOptions<LevelZeroQueue>;

/** A parameter of a kernel. */
export interface LevelZeroParameter {
  /** Its type: `"global f32*"`, `"i32"`. */
  readonly type: string;
  /** Its name in the source, if the compiler kept it. */
  readonly name: string | undefined;
}

const ONE = [1];

/** A kernel. Every run checks its arguments against what its SPIR-V declares. */
export class LevelZeroKernel extends UnifiedKernel<
  LevelZeroProgram,
  ZeKernelHandle,
  LevelZeroLane,
  LevelZeroQueue,
  LevelZeroRange,
  LevelZeroArgument
> {
  /** Its parameters, in order. */
  readonly parameters: readonly LevelZeroParameter[];
  readonly #groups: Sizes;
  readonly #groupSize: Sizes;
  readonly #count: Struct = struct("ze_group_count_t");
  readonly #call: Call<LevelZeroLane> = signalling(
    FN,
    ({ handle, waitCount, waits }, signal) =>
      levelZero()[FN](handle, this.rawHandle, this.#count, signal, waitCount, waits),
  );
  /** The group size that the native kernel has now. */
  #size = "";

  /** Made by `program.kernel()`. */
  constructor(program: LevelZeroProgram, name: string, parameters: readonly SpirvParameter[]) {
    const launch = { api: "levelzero", fn: FN, kernel: name };
    const undo: Undo = [];
    const packed = parameters.map((parameter, index) => parameterOf(parameter, index, name));
    const { handle, held } = allOrNothing(`making the kernel ${name}`, () => {
      const desc = struct("ze_kernel_desc_t", { pKernelName: cString(name) });
      const fn = "zeKernelCreate";
      const handle = made<ZeKernelHandle>(fn, (out) => levelZero()[fn](program.handle, desc, out));
      owned("levelzero.kernel", undo, () => check(levelZero().zeKernelDestroy(handle), "zeKernelDestroy"));
      return { handle, held: new KernelArguments(handle, packed) };
    }, undo);
    const types = parameters.map(({ type, name }) => name === undefined ? type : `${type} ${name}`);
    super(program, launch, handle, undo, { queues: LevelZeroQueue, types, held });
    const { limits } = program.context.device;
    this.parameters = parameters.map(({ type, name }) => ({ type, name }));
    this.#groups = new Sizes(launch, "groups", 1, limits.groups);
    this.#groupSize = new Sizes(launch, "groupSize", 1, limits.groupSize);
  }

  /** Takes the sizes. Returns the command that launches them. */
  protected override take(given: LevelZeroRange): Call<LevelZeroLane> {
    const { name, limits: { groupItems } } = this.program.context.device;
    const { groups, groupSize } = rangeIn(given, "groups", RANGE, this.launch);
    this.#groups.take(groups);
    this.#groupSize.take(groupSize ?? (groups.length === 1 ? ONE : groups.map(() => 1)), this.#groups);
    this.#groupSize.assertItems(groupItems, "work-items", `a work group of ${name} may have`);
    const { groupCountX, groupCountY, groupCountZ } = layouts.ze_group_count_t.fields;
    [groupCountX, groupCountY, groupCountZ].forEach((field, i) => this.#count.put(field, this.#groups.at(i)));
    const size = [0, 1, 2].map((i) => this.#groupSize.at(i));
    if (size.join() !== this.#size) {
      this.#size = ""; // until the driver has taken it
      check(levelZero().zeKernelSetGroupSize(this.rawHandle, size[0], size[1], size[2]), "zeKernelSetGroupSize");
      this.#size = size.join();
    }
    return this.#call;
  }
}

class KernelArguments extends Arguments<LevelZeroContext> {
  readonly #kernel: ZeKernelHandle;

  constructor(kernel: ZeKernelHandle, parameters: readonly Parameter<LevelZeroContext>[]) {
    super(parameters, "levelzero");
    this.#kernel = kernel;
  }

  /** Sets a packed argument; the driver keeps a copy of it. */
  protected override set(index: number): void {
    const size = BigInt(this.parameters[index].size);
    const address = this.address + BigInt(this.offsets[index]) as Address;
    const code = levelZero().zeKernelSetArgumentValue(this.#kernel, index, size, address);
    check(code, "zeKernelSetArgumentValue");
  }
}

function parameterOf(
  { type, name, pointer, element }: SpirvParameter,
  index: number,
  kernel: string,
): Parameter<LevelZeroContext> {
  const place: ParameterPlace = { api: "levelzero", fn: FN, kernel, index, type, name };
  if (pointer !== undefined && ["global", "constant"].includes(pointer.space)) {
    return new UnifiedParameter(place, { isConst: pointer.isConst, element }, LEVELZERO_USM);
  }
  if (pointer === undefined && element !== undefined) return new ValueParameter(place, element);
  const what = `${kernel} takes a ${type} as parameter ${index}.`;
  throw checks.wrong("name", what, "Take pointers to global memory, numbers and vectors.");
}
