import {
  CL_KERNEL_ARG_ADDRESS_CONSTANT,
  CL_KERNEL_ARG_ADDRESS_GLOBAL,
  CL_KERNEL_ARG_ADDRESS_LOCAL,
  CL_KERNEL_ARG_ADDRESS_PRIVATE,
  CL_KERNEL_ARG_TYPE_CONST,
} from "../../ffi/opencl/constants.ts";
import { type Access, writes } from "../core/access.ts";
import type { DType } from "../core/dtype.ts";
import { AccessError, ArgumentError, LayoutError } from "../core/errors.ts";
import { OpenCLTensor } from "./tensor.ts";

/** Local memory of a work-group, as a kernel argument. */
export class LocalMemory {
  /** Its size in bytes. */
  readonly byteLength: number;

  /** `byteLength` is a whole number above 0, else this throws an ArgumentError. */
  constructor(byteLength: number) {
    if (!Number.isSafeInteger(byteLength) || byteLength <= 0) {
      throw new ArgumentError(`byteLength: ${byteLength} is not a whole number above 0.`, {
        api: "opencl",
        argument: "byteLength",
      });
    }
    this.byteLength = byteLength;
  }
}

/** A tensor whose `layout.byteOffset` the kernel is told by an argument of its own. */
export class BaseOf {
  /** The tensor. */
  readonly tensor: OpenCLTensor;

  /** Passes the tensor's handle as it is. */
  constructor(tensor: OpenCLTensor) {
    this.tensor = tensor;
  }
}

/**
 * What a kernel argument can be: a tensor for a pointer; a number or bigint for a scalar; an array of them for a
 * vector; {@link LocalMemory} for `local` memory; the bytes of anything else that is passed by value (a struct).
 */
export type KernelArgument =
  | OpenCLTensor
  | BaseOf
  | LocalMemory
  | number
  | bigint
  | readonly number[]
  | ArrayBufferView<ArrayBuffer>;

/** What clGetKernelArgInfo says of one argument. */
export interface ArgumentInfo {
  /** Its name in the source. */
  readonly name: string;
  /** Its type's name: `"uchar*"`, `"float4"`. */
  readonly type: string;
  /** CL_KERNEL_ARG_ADDRESS_…. */
  readonly address: number;
  /** CL_KERNEL_ARG_TYPE_… bits. */
  readonly qualifiers: bigint;
}

/** How a scalar type is written: its size, its range, and the way into a DataView. */
interface Scalar {
  readonly dtype: DType;
  readonly size: number;
  /** The range of a whole number; undefined where any number will do. */
  readonly range: readonly [least: bigint, most: bigint] | undefined;
  write(view: DataView, offset: number, value: number | bigint): void;
}

const integer = (dtype: DType, size: number, signed: boolean, write: Scalar["write"]): Scalar => ({
  dtype,
  size,
  range: signed ? [-(2n ** BigInt(8 * size - 1)), 2n ** BigInt(8 * size - 1) - 1n] : [0n, 2n ** BigInt(8 * size) - 1n],
  write,
});
const float = (dtype: DType, size: number, write: Scalar["write"]): Scalar => ({
  dtype,
  size,
  range: undefined,
  write,
});

/** The scalar types of OpenCL C (6.3.1), which its vectors are made of. All are little-endian. */
const SCALARS: { readonly [type: string]: Scalar } = {
  char: integer("i8", 1, true, (view, at, value) => view.setInt8(at, Number(value))),
  uchar: integer("u8", 1, false, (view, at, value) => view.setUint8(at, Number(value))),
  short: integer("i16", 2, true, (view, at, value) => view.setInt16(at, Number(value), true)),
  ushort: integer("u16", 2, false, (view, at, value) => view.setUint16(at, Number(value), true)),
  int: integer("i32", 4, true, (view, at, value) => view.setInt32(at, Number(value), true)),
  uint: integer("u32", 4, false, (view, at, value) => view.setUint32(at, Number(value), true)),
  long: integer("i64", 8, true, (view, at, value) => view.setBigInt64(at, BigInt(value), true)),
  ulong: integer("u64", 8, false, (view, at, value) => view.setBigUint64(at, BigInt(value), true)),
  half: float("f16", 2, (view, at, value) => view.setFloat16(at, Number(value), true)),
  float: float("f32", 4, (view, at, value) => view.setFloat32(at, Number(value), true)),
  double: float("f64", 8, (view, at, value) => view.setFloat64(at, Number(value), true)),
};

/** What a program cannot pass: their values are the driver's own objects, and a false one ends the process. */
const OPAQUE = /\b(?:image\w*_t|sampler_t|event_t|queue_t|clk_event_t|ndrange_t|reserve_id_t|pipe)\b/;

/** What a checked argument comes to: bytes for clSetKernelArg (none for local memory), and the tensor it uses. */
export interface Prepared {
  /** clSetKernelArg's arg_size. */
  readonly size: number;
  /** clSetKernelArg's arg_value. */
  readonly value: ArrayBufferView<ArrayBuffer> | null;
  /** The tensor behind a pointer. */
  readonly tensor?: OpenCLTensor;
  /** What the kernel may do to it. */
  readonly access?: Access;
}

/**
 * One argument of a kernel: checks what is passed for it.
 */
export class ArgumentSlot {
  readonly #info: ArgumentInfo;
  readonly #where: string;
  readonly #scalar: Scalar | undefined;
  readonly #lanes: number;
  readonly #access: Access;

  /** `kernel` is named in messages. */
  constructor(kernel: string, index: number, info: ArgumentInfo) {
    this.#info = info;
    this.#where = `${kernel}: argument ${index} (${info.type} ${info.name})`;
    const [, base, lanes] =
      /^(?:const |volatile |restrict )*(unsigned \w+|[a-z]+?)(2|3|4|8|16)?\s*\**$/.exec(info.type) ?? [];
    const scalar = base?.replace("unsigned ", "u");
    this.#scalar = scalar !== undefined && Object.hasOwn(SCALARS, scalar) ? SCALARS[scalar] : undefined;
    this.#lanes = Number(lanes ?? 1);
    const constant = info.address === CL_KERNEL_ARG_ADDRESS_CONSTANT ||
      (info.qualifiers & CL_KERNEL_ARG_TYPE_CONST) !== 0n;
    this.#access = constant ? "read" : "read-write";
  }

  /**
   * Checks a value, and makes the bytes of it.
   *
   * @throws {ArgumentError} where it is of the wrong kind, type, size or range.
   * @throws {AccessError} where its bytes may not be used so.
   * @throws {DisposedError} where its tensor was disposed.
   */
  prepare(value: KernelArgument): Prepared {
    if (OPAQUE.test(this.#info.type)) throw this.#wrong(`a ${this.#info.type} cannot be passed: samepage has none.`);
    switch (this.#info.address) {
      case CL_KERNEL_ARG_ADDRESS_LOCAL:
        return this.#local(value);
      case CL_KERNEL_ARG_ADDRESS_GLOBAL:
      case CL_KERNEL_ARG_ADDRESS_CONSTANT:
        return this.#pointer(value);
      case CL_KERNEL_ARG_ADDRESS_PRIVATE:
        return this.#byValue(value);
      default:
        throw this.#wrong("its address space is not known.");
    }
  }

  #local(value: KernelArgument): Prepared {
    if (!(value instanceof LocalMemory)) {
      throw this.#wrong(`it is local memory; got ${kindOf(value)}.`, "Pass new LocalMemory(bytes).");
    }
    return { size: value.byteLength, value: null };
  }

  #pointer(value: KernelArgument): Prepared {
    const tensor = value instanceof BaseOf ? value.tensor : value;
    if (!(tensor instanceof OpenCLTensor)) {
      throw this.#wrong(
        `it is a pointer to device memory; got ${kindOf(value)}.`,
        "Map the tensor to the context first: graph.map(tensor, cl).",
      );
    }
    tensor.resource.assertLive();
    this.#checkElements(tensor);
    if (tensor.layout.byteOffset !== 0 && !(value instanceof BaseOf)) {
      throw new LayoutError(
        `${this.#where}: ${tensor.name} begins ${tensor.layout.byteOffset} bytes into its cl_mem.`,
        {
          api: "opencl",
          argument: this.#info.name,
          hint:
            "No sub-buffer can begin there. Pass new BaseOf(tensor), and tensor.layout.byteOffset as an argument of its own.",
        },
      );
    }
    return { size: 8, value: new BigUint64Array([tensor.rawHandle]), tensor, access: this.#use(tensor) };
  }

  /** What the kernel does to the tensor, once that is allowed. */
  #use(tensor: OpenCLTensor): Access {
    if (writes(this.#access) && !writes(tensor.access)) {
      throw new AccessError(`${this.#where} may be written, and ${tensor.name} was mapped for "read".`, {
        api: "opencl",
        argument: this.#info.name,
        hint: 'Declare the pointer const, or map with { access: "read-write" }.',
      });
    }
    const access = writes(this.#access) ? tensor.access : this.#access;
    tensor.assertUsable(access);
    return access;
  }

  #checkElements(tensor: OpenCLTensor): void {
    const { dtype } = tensor.layout;
    if (this.#scalar === undefined || this.#scalar.dtype === dtype) return;
    throw this.#wrong(
      `it points to ${this.#scalar.dtype}; ${tensor.name} holds ${dtype}.`,
      "Slice the tensor with a layout of that dtype, where the bytes are meant so.",
    );
  }

  #byValue(value: KernelArgument): Prepared {
    if (ArrayBuffer.isView(value)) return this.#bytes(value as ArrayBufferView<ArrayBuffer>);
    const scalar = this.#scalar;
    if (scalar === undefined) {
      throw this.#wrong(
        `it is a ${this.#info.type}, passed by value; got ${kindOf(value)}.`,
        "Pass its bytes as a typed array.",
      );
    }
    const lanes = Array.isArray(value) ? [...value as readonly number[]] : [value as number | bigint];
    if (lanes.length !== this.#lanes) throw this.#wrong(`it has ${this.#lanes} elements; got ${lanes.length}.`);
    // A vector of three takes the room of four (OpenCL C 6.3.5).
    const bytes = new DataView(new ArrayBuffer(scalar.size * (this.#lanes === 3 ? 4 : this.#lanes)));
    lanes.forEach((lane, i) => scalar.write(bytes, i * scalar.size, this.#inRange(lane, scalar)));
    return { size: bytes.byteLength, value: bytes };
  }

  #bytes(value: ArrayBufferView<ArrayBuffer>): Prepared {
    const size = this.#scalar === undefined
      ? value.byteLength
      : this.#scalar.size * (this.#lanes === 3 ? 4 : this.#lanes);
    if (value.byteLength !== size || size === 0) throw this.#wrong(`it takes ${size} bytes; got ${value.byteLength}.`);
    return { size, value };
  }

  #inRange(value: number | bigint, scalar: Scalar): number | bigint {
    if (typeof value !== "number" && typeof value !== "bigint") {
      throw this.#wrong(`it is a number; got ${kindOf(value)}.`);
    }
    if (scalar.range === undefined) return value;
    const [least, most] = scalar.range;
    if ((typeof value === "number" && !Number.isInteger(value)) || value < least || value > most) {
      throw this.#wrong(`${value} is no whole number from ${least} to ${most}.`);
    }
    return value;
  }

  #wrong(what: string, hint?: string): ArgumentError {
    return new ArgumentError(`${this.#where}: ${what}`, {
      api: "opencl",
      fn: "clSetKernelArg",
      argument: this.#info.name,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  return value.constructor?.name ?? "object";
}
