import {
  CL_KERNEL_ARG_ADDRESS_CONSTANT,
  CL_KERNEL_ARG_ADDRESS_GLOBAL,
  CL_KERNEL_ARG_ADDRESS_LOCAL,
  CL_KERNEL_ARG_ADDRESS_PRIVATE,
  CL_KERNEL_ARG_TYPE_CONST,
} from "../../ffi/opencl/constants.ts";
import { shown } from "../core/argument.ts";
import { type Access, writes } from "../core/access.ts";
import type { DType } from "../core/dtype.ts";
import { Frame } from "../core/frame.ts";
import { AccessError, ArgumentError, LayoutError } from "../core/errors.ts";
import { bytesIn, kindOf } from "./check.ts";
import { OpenCLTensor } from "./tensor.ts";

/** Local memory of a work-group, as a kernel argument. */
export class LocalMemory {
  readonly #byteLength: number;

  /** `byteLength` is a whole number above 0, else this throws an ArgumentError. */
  constructor(byteLength: number) {
    if (!Number.isSafeInteger(byteLength) || byteLength <= 0) {
      throw new ArgumentError(`byteLength: ${shown(byteLength)} is not a whole number above 0.`, {
        api: "opencl",
        argument: "byteLength",
      });
    }
    this.#byteLength = byteLength;
  }

  /** Its size in bytes. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** The size that a LocalMemory was made with; undefined for anything else. */
  static sizeOf(value: unknown): number | undefined {
    return typeof value === "object" && value !== null && #byteLength in value ? value.#byteLength : undefined;
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
  /** True for an image, a sampler and the like, whatever its type is called: its value is the driver's own object. */
  readonly opaque: boolean;
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

/** The scalar that a type, or what it points to, is made of, and how many of it; none where it is no such type. */
function elementOf(type: string): [scalar: string | undefined, lanes: string | undefined] {
  const [, base, lanes] = /^(?:const |volatile |restrict )*(unsigned \w+|[a-z]+?)(2|3|4|8|16)?\s*\**$/.exec(type) ?? [];
  const scalar = base?.replace("unsigned ", "u");
  return scalar !== undefined && Object.hasOwn(SCALARS, scalar) ? [scalar, lanes] : [undefined, undefined];
}

/** True for OpenCL C's own numbers and vectors, and pointers to them. */
export function isNumeric(type: string): boolean {
  return elementOf(type)[0] !== undefined;
}

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
  readonly #opaque: boolean;
  readonly #scalar: Scalar | undefined;
  readonly #lanes: number;
  /** The size of a value, in bytes, and what the address of one is a multiple of; 1 where the type is not known. */
  readonly #size: number;
  readonly #access: Access;

  /** `kernel` is named in messages. */
  constructor(kernel: string, index: number, info: ArgumentInfo) {
    this.#info = info;
    this.#opaque = info.opaque || OPAQUE.test(info.type);
    this.#where = `${kernel}: argument ${index} (${info.type} ${info.name})`;
    const [name, lanes] = elementOf(info.type);
    this.#scalar = name === undefined ? undefined : SCALARS[name];
    this.#lanes = Number(lanes ?? 1);
    // A vector of three takes the room of four (OpenCL C 6.3.5).
    this.#size = (this.#scalar?.size ?? 1) * (this.#lanes === 3 ? 4 : this.#lanes);
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
    if (this.#opaque) throw this.#wrong(`a ${this.#info.type} cannot be passed: samepage has none.`);
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
    const size = LocalMemory.sizeOf(value);
    if (size === undefined) {
      throw this.#wrong(`it is local memory; got ${kindOf(value)}.`, "Pass new LocalMemory(bytes).");
    }
    return { size, value: null };
  }

  #pointer(value: KernelArgument): Prepared {
    const tensor = value instanceof BaseOf ? value.tensor : value;
    if (!(tensor instanceof OpenCLTensor)) {
      throw this.#wrong(
        `it is a pointer to device memory; got ${kindOf(value)}.`,
        remedyFor(value),
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
    this.#checkAlignment(tensor);
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

  /** A vector's address is a multiple of its size (OpenCL C 6.3.5), and compilers count on it. */
  #checkAlignment({ name, root, origin }: OpenCLTensor): void {
    if (this.#lanes === 1) return;
    const at = (root.hostAddress ?? 0n) + BigInt(origin);
    if (at % BigInt(this.#size) === 0n) return;
    throw new LayoutError(`${this.#where}: ${name} does not begin at a multiple of ${this.#size} bytes.`, {
      api: "opencl",
      argument: this.#info.name,
      hint: "Map memory that is aligned for the vector, or take a pointer to its elements and use vload.",
    });
  }

  #byValue(value: KernelArgument): Prepared {
    const given = bytesIn(value);
    if (given !== undefined) return this.#bytes(given);
    const scalar = this.#scalar;
    if (scalar === undefined) {
      throw this.#wrong(
        `it is a ${this.#info.type}, passed by value; got ${kindOf(value)}.`,
        "Pass its bytes as a typed array.",
      );
    }
    const lanes = Array.isArray(value) ? Array.from<number>(value) : [value as number | bigint];
    if (lanes.length !== this.#lanes) throw this.#wrong(`it has ${this.#lanes} elements; got ${lanes.length}.`);
    const bytes = new DataView(new ArrayBuffer(this.#size));
    lanes.forEach((lane, i) => scalar.write(bytes, i * scalar.size, this.#inRange(lane, scalar)));
    return { size: bytes.byteLength, value: bytes };
  }

  #bytes(given: Uint8Array<ArrayBuffer>): Prepared {
    const { byteLength } = given;
    const size = this.#scalar === undefined ? byteLength : this.#size;
    if (byteLength !== size || size === 0) throw this.#wrong(`it takes ${size} bytes; got ${byteLength}.`);
    return { size, value: given.slice() };
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

/** What somebody who passed this for a pointer will have meant. */
function remedyFor(value: unknown): string {
  if (value instanceof Frame) return "Pass one of its planes.";
  if (typeof value === "bigint") return "Pass the tensor itself, not its handle.";
  if (ArrayBuffer.isView(value)) {
    return "Take it over with host.wrap(), and map that to the context: graph.map(tensor, cl).";
  }
  return "Map the tensor to the context first: graph.map(tensor, cl).";
}
