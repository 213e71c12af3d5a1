/** SPIR-V as a compiler of OpenCL C writes it, for kernels that the tests' driver has as C functions. */

const MAGIC = 0x07230203;
const GLOBAL = 5;
const LOCAL = 4;

/** A parameter: `"f32*"`, `"const u8*"`, `"local f32*"`, `"u32"`, `"struct"`. */
export interface SourceKernel {
  readonly name: string;
  readonly parameters: readonly (readonly [type: string, name: string])[];
}

/** The kernels of `driver.c`. */
const KERNELS: readonly SourceKernel[] = [
  { name: "twice", parameters: [["f32*", "numbers"]] },
  { name: "add", parameters: [["u32*", "numbers"], ["u32", "n"]] },
  { name: "invert", parameters: [["const u8*", "from"], ["u8*", "to"]] },
];

/** A module of kernels. */
export function spirvOf(kernels: readonly SourceKernel[] = KERNELS): Uint32Array<ArrayBuffer> {
  let next = 1;
  const head: number[] = [];
  const names: number[] = [];
  const types: number[] = [];
  const functions: number[] = [];
  const known = new Map<string, number>();
  const type = (name: string, make: (id: number) => readonly [opcode: number, ...words: number[]]): number => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const words = make(next);
    const id = next++;
    known.set(name, id);
    types.push(...instruction(...words));
    return id;
  };
  const numberOf = (name: string) =>
    name === "struct"
      ? type(name, (id) => [30, id])
      : name[0] === "f"
      ? type(name, (id) => [22, id, Number(name.slice(1))])
      : type(`i${name.slice(1)}`, (id) => [21, id, Number(name.slice(1)), 0]);
  const typeOf = (name: string): number => {
    if (!name.endsWith("*")) return numberOf(name);
    const of = numberOf(name.replace(/^(const|local) /, "").slice(0, -1));
    const space = name.startsWith("local ") ? LOCAL : GLOBAL;
    return type(`${space} ${of}*`, (id) => [32, id, space, of]);
  };
  const nothing = type("void", (id) => [19, id]);
  for (const { name, parameters } of kernels) {
    const ofParameters = parameters.map(([name]) => typeOf(name));
    const signature = type(`void(${ofParameters})`, (id) => [33, id, nothing, ...ofParameters]);
    const [self, label] = [next++, next++];
    head.push(...instruction(15, 6, self, ...text(name)));
    functions.push(...instruction(54, nothing, self, 0, signature));
    parameters.forEach(([of, called], i) => {
      const id = next++;
      names.push(...instruction(5, id, ...text(called)));
      if (of.startsWith("const ")) names.push(...instruction(71, id, 38, 6));
      functions.push(...instruction(55, ofParameters[i], id));
    });
    functions.push(...instruction(248, label), ...instruction(253), ...instruction(56));
  }
  return new Uint32Array([MAGIC, 0x10000, 0, next, 0, ...head, ...names, ...types, ...functions]);
}

function instruction(opcode: number, ...words: number[]): number[] {
  return [(words.length + 1) << 16 | opcode, ...words];
}

function text(of: string): number[] {
  const bytes = new TextEncoder().encode(`${of}\0`);
  const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
  padded.set(bytes);
  return [...new Uint32Array(padded.buffer)];
}
