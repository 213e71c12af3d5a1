import { CL_TRUE } from "../../../ffi/opencl/constants.ts";
import type { ClKernel } from "../../../ffi/opencl/handles.ts";
import { aKind, isMade, shown } from "../../core/argument.ts";
import { ArgumentError } from "../../core/errors.ts";
import { elsewhere } from "../../core/checks.ts";
import { checks } from "../check.ts";
import type { BaseContext } from "../base_context.ts";
import { check } from "../errors.ts";
import { newer } from "../library.ts";
import { OpenCLPointerTensor } from "../pointers/tensor.ts";

const FN = "clSetKernelExecInfo";

/**
 * For memory that a kernel reaches by pointers in memory. @throws {ArgumentError} if a tensor has no address for kernels,
 * or is of another context. @throws {AccessError} if its bytes are lent. @throws {DisposedError}
 */
export function acceptIndirect(
  given: unknown,
  kernel: string,
  context: BaseContext,
): readonly OpenCLPointerTensor[] | undefined {
  if (given === undefined) return undefined;
  if (!Array.isArray(given)) throw wrong(kernel, "indirect", `expected an array, got ${aKind(given)}.`);
  const tensors = new Set(
    checks.itemsIn<unknown>(given, "indirect").map((tensor, i) => {
      const argument = `indirect[${i}]`;
      if (!isMade(tensor, OpenCLPointerTensor)) {
        const hint = "A buffer has no address for kernels: allocate it with cl.svm or cl.usm.";
        throw wrong(kernel, argument, `expected a tensor of cl.svm or cl.usm, got ${aKind(tensor)}.`, hint);
      }
      tensor.resource.assertLive();
      if (tensor.context !== context) {
        throw wrong(kernel, argument, `${tensor.name} ${elsewhere(tensor.context, context)}.`);
      }
      tensor.usable(tensor.access);
      return tensor;
    }),
  );
  return tensors.size === 0 ? undefined : [...tensors];
}

export function tellIndirect(kernel: ClKernel, tensors: readonly OpenCLPointerTensor[]): void {
  const flags = new Set<number>();
  const lists = new Map<number, bigint[]>();
  for (const tensor of tensors) {
    const { flag, pointers } = tensor.execInfo;
    if (flag !== undefined) flags.add(flag);
    if (pointers === undefined) continue;
    const list = lists.get(pointers);
    if (list === undefined) lists.set(pointers, [tensor.address]);
    else list.push(tensor.address);
  }
  for (const flag of flags) check(newer(FN)(kernel, flag, 4n, new Uint32Array([CL_TRUE])), FN);
  for (const [pointers, addresses] of lists) {
    const list = BigUint64Array.from(addresses);
    check(newer(FN)(kernel, pointers, BigInt(list.byteLength), list), FN);
  }
}

function wrong(kernel: string, argument: string, what: string, hint?: string): ArgumentError {
  return new ArgumentError(`${shown(kernel)}: ${argument}: ${what}`, {
    api: "opencl",
    fn: FN,
    argument,
    hint,
  });
}
