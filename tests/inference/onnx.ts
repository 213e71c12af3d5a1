/** ONNX models of a few nodes, written by hand: both runtimes read them. Numbers of fields are those of onnx.proto. */

/** The element types of ONNX, by our names, and those that we have none for. */
export const ONNX_TYPES = {
  f32: 1,
  u8: 2,
  i8: 3,
  u16: 4,
  i16: 5,
  i32: 6,
  i64: 7,
  string: 8,
  bool: 9,
  f16: 10,
  f64: 11,
  u32: 12,
  u64: 13,
  bf16: 16,
} as const;

/** An input or an output: a dimension that is a text is one that each run says. */
export interface OnnxValue {
  readonly name: string;
  readonly type: keyof typeof ONNX_TYPES;
  readonly shape: readonly (number | string)[];
  /** Anything but a tensor: a sequence of them, a sparse one. */
  readonly other?: "sequence" | "sparse";
}

/** An operator with attributes that are integers, or lists of them. */
export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, number | readonly number[]>>;
}

/** A constant of 64-bit integers, which shapes and indices are. */
export interface OnnxConstant {
  readonly name: string;
  readonly values: readonly number[];
}

export interface OnnxGraph {
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly nodes: readonly OnnxNode[];
  readonly constants?: readonly OnnxConstant[];
}

/** The bytes of a model. */
export function onnxModel({ inputs, outputs, nodes, constants = [] }: OnnxGraph): Uint8Array<ArrayBuffer> {
  const graph = message(
    ...nodes.map((node) => field(1, nodeProto(node))),
    field(2, text("graph")),
    ...constants.map((constant) => field(5, tensorProto(constant))),
    ...inputs.map((value) => field(11, valueInfo(value))),
    ...outputs.map((value) => field(12, valueInfo(value))),
  );
  return message(number(1, 8), field(7, graph), field(8, number(2, 17)));
}

/** A model of one operator on one tensor. */
export function unary(
  op: string,
  type: OnnxValue["type"],
  shape: OnnxValue["shape"],
  result: Partial<OnnxValue> = {},
): Uint8Array<ArrayBuffer> {
  return onnxModel({
    inputs: [{ name: "x", type, shape }],
    outputs: [{ name: "y", type, shape, ...result }],
    nodes: [{ op, inputs: ["x"], outputs: ["y"] }],
  });
}

/** Elements along each side of a matrix, and how often it is multiplied: some fifty milliseconds. */
export const SIDE = 512;
const POWER = 64;

/** `x` to a power, by its name: each product reads `x`, and the last one writes `to`. */
export function power(x: string, to: string): OnnxNode[] {
  return Array.from({ length: POWER }, (_, i) => ({
    op: "MatMul",
    inputs: [i === 0 ? x : `${to}${i}`, x],
    outputs: [i === POWER - 1 ? to : `${to}${i + 1}`],
  }));
}

function nodeProto({ op, inputs, outputs, attributes = {} }: OnnxNode): Uint8Array<ArrayBuffer> {
  return message(
    ...inputs.map((name) => field(1, text(name))),
    ...outputs.map((name) => field(2, text(name))),
    field(4, text(op)),
    ...Object.entries(attributes).map(([name, value]) =>
      field(
        5,
        typeof value === "number"
          ? message(field(1, text(name)), number(3, value), number(20, 2))
          : message(field(1, text(name)), ...value.map((n) => number(8, n)), number(20, 7)),
      )
    ),
  );
}

function tensorProto({ name, values }: OnnxConstant): Uint8Array<ArrayBuffer> {
  const raw = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  return message(number(1, values.length), number(2, ONNX_TYPES.i64), field(8, text(name)), field(9, raw));
}

function valueInfo({ name, type, shape, other }: OnnxValue): Uint8Array<ArrayBuffer> {
  const dims = shape.map((n) => field(1, typeof n === "number" ? number(1, n) : field(2, text(n))));
  const about = message(number(1, ONNX_TYPES[type]), field(2, message(...dims)));
  const value = { sequence: () => field(4, field(1, field(1, about))), sparse: () => field(8, about) };
  return message(field(1, text(name)), field(2, other === undefined ? field(1, about) : value[other]()));
}

function message(...fields: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(fields.reduce((length, one) => length + one.length, 0));
  let at = 0;
  for (const one of fields) {
    bytes.set(one, at);
    at += one.length;
  }
  return bytes;
}

/** A field that has a length. */
function field(key: number, value: Uint8Array): Uint8Array {
  return message(varint(key << 3 | 2), varint(value.length), value);
}

/** A field that is an integer. */
function number(key: number, value: number): Uint8Array {
  return message(varint(key << 3), varint(value));
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = BigInt.asUintN(64, BigInt(value));; rest >>= 7n) {
    if (rest < 0x80n) return Uint8Array.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 0x7fn) | 0x80);
  }
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}
