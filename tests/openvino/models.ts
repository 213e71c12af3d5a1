// Models in OpenVINO's own format (IR), written by hand: text, and no weights.

/** Shape and type of one input or output: `-1` where any number fits. */
export interface IrValue {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: string;
}

interface Layer {
  readonly type: string;
  readonly version?: string;
  readonly data?: string;
  readonly inputs: readonly number[];
  readonly output: IrValue;
}

/** The text of a model whose layers follow one another: each names the layers before it whose outputs it takes. */
export function irModel(layers: readonly Layer[], results: readonly number[]): Uint8Array<ArrayBuffer> {
  const port = (id: number, { name, shape, type }: IrValue, named: boolean) =>
    `<port id="${id}" precision="${precisionOf(type)}"${named ? ` names="${name}"` : ""}>${
      shape.map((n) => `<dim>${n}</dim>`).join("")
    }</port>`;
  const edges: string[] = [];
  const text = layers.map(({ type, version = "opset1", data = "", inputs, output }, id) => {
    const taken = inputs.map((from, to) => {
      edges.push(edge(from, layers[from].inputs.length, id, to));
      return port(to, layers[from].output, false);
    });
    const input = taken.length === 0 ? "" : `<input>${taken.join("")}</input>`;
    const opset = `type="${type}" version="${version}"`;
    return `<layer id="${id}" name="${output.name}" ${opset}>${data === "" ? "" : `<data ${data}/>`}${input}` +
      `<output>${port(inputs.length, output, true)}</output></layer>`;
  });
  const ends = results.map((from, i) => {
    const id = layers.length + i;
    edges.push(edge(from, layers[from].inputs.length, id, 0));
    const { output } = layers[from];
    return `<layer id="${id}" name="${output.name}/result" type="Result" version="opset1"><input>${
      port(0, output, false)
    }</input></layer>`;
  });
  return new TextEncoder().encode(
    `<?xml version="1.0"?><net name="model" version="11"><layers>${text.join("")}${ends.join("")}</layers>` +
      `<edges>${edges.join("")}</edges></net>`,
  );
}

function edge(from: number, fromPort: number, to: number, toPort: number): string {
  return `<edge from-layer="${from}" from-port="${fromPort}" to-layer="${to}" to-port="${toPort}"/>`;
}

function precisionOf(type: string): string {
  return { f32: "FP32", f16: "FP16", f64: "FP64", bf16: "BF16", boolean: "BOOL" }[type] ?? type.toUpperCase();
}

export function parameter(name: string, type: string, shape: readonly number[]): Layer {
  const data = `shape="${shape.join(",")}" element_type="${type}"`;
  return { type: "Parameter", data, inputs: [], output: { name, type, shape } };
}

/** `y = op(x)`, for operations that keep type and shape: `Sigmoid`, `Relu`, `Negative`, `LogicalNot`. */
export function unary(type: string, of: string, shape: readonly number[]): Uint8Array<ArrayBuffer> {
  return irModel([
    parameter("x", of, shape),
    { type, inputs: [0], output: { name: "y", type: of, shape } },
  ], [1]);
}

/** `y` is `x` and the sum of those before: it keeps a state. */
export const STATEFUL = (() => {
  const data = 'variable_id="sum" variable_type="f32" variable_shape="4"';
  const value = (name: string) => ({ name, type: "f32", shape: [4] });
  return irModel([
    parameter("x", "f32", [4]),
    { type: "ReadValue", version: "opset6", data, inputs: [0], output: value("before") },
    { type: "Add", data: 'auto_broadcast="numpy"', inputs: [0, 1], output: value("y") },
    { type: "Assign", version: "opset6", data, inputs: [2], output: value("after") },
  ], [2]);
})();

/** `y` is `x` in rows of four, which some inputs cannot be. */
export const ROWS = irModel([
  parameter("x", "f32", [-1]),
  {
    type: "Const",
    data: 'element_type="i64" shape="2" offset="0" size="16"',
    inputs: [],
    output: { name: "shape", type: "i64", shape: [2] },
  },
  { type: "Reshape", data: 'special_zero="false"', inputs: [0, 1], output: { name: "y", type: "f32", shape: [-1, 4] } },
], [2]);

/** The shape that is a constant of it. */
export const ROWS_WEIGHTS = new BigInt64Array([-1n, 4n]);
