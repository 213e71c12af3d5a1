import type { Library } from "../library.ts";
import type { Model, Struct } from "../model.ts";
import { pascalCase } from "../types.ts";

/** `structs.ts`: layouts, with a reader and a writer each where more than those is wanted. */
export function structs({ layoutsOnly }: Library, { structs }: Model): string {
  return structs.map((struct) => layoutsOnly ? layoutOf(withPointers(struct)) : layoutOf(struct) + access(struct))
    .join("");
}

/** What a program reads is typed by the layout alone: it has to say which words are addresses. */
function withPointers(struct: Struct): Struct {
  const fields = Object.entries(struct.layout.fields).map(([name, field]) => {
    const isNumber = /^(bigint|number)$/.test(struct.members[name].foreign.type);
    return [name, isNumber ? field : { ...field, type: "pointer" }] as const;
  });
  return { ...struct, layout: { ...struct.layout, fields: Object.fromEntries(fields) as typeof struct.layout.fields } };
}

function layoutOf({ type, name, layout }: Struct): string {
  const rows = Object.entries(layout.fields)
    .map(([field, { offset, type }]) => `    ${field}: { offset: ${offset}, type: "${type}" },`);
  return `
/** The layout of a \`${type}\`. */
export const ${name} = {
  size: ${layout.size},
  align: ${layout.align},
  fields: {
${rows.join("\n")}
  },
} as const satisfies StructLayout;
`;
}

function access({ type, name, layout, members }: Struct): string {
  const Name = pascalCase(name);
  const fields = Object.entries(layout.fields);
  const typed = fields.map(([field]) => {
    const { designator, foreign } = members[field];
    return `  /** \`${type}.${designator}\` */\n  ${field}: ${foreign.type};`;
  });
  const reads = fields.map(([field, { offset, type }]) => {
    const value = `view.get${accessor(type)}(${at(offset)}${endian(type)})`;
    const brand = members[field].foreign.type;
    return `    ${field}: ${value}${/^(bigint|number)$/.test(brand) ? "" : ` as ${brand}`},`;
  });
  const writes = fields.map(([field, { offset, type }]) => (
    `  view.set${accessor(type)}(${at(offset)}, value.${field}${endian(type)});`
  ));
  return `
/** The values of a \`${type}\`. */
export interface ${Name} {
${typed.join("\n")}
}

/** Reads a \`${type}\` at a byte offset. */
export function read${Name}(view: DataView, offset: number): ${Name} {
  return {
${reads.join("\n")}
  };
}

/** Writes a \`${type}\` at a byte offset. */
export function write${Name}(view: DataView, offset: number, value: ${Name}): void {
${writes.join("\n")}
}
`;
}

function at(offset: number): string {
  return offset === 0 ? "offset" : `offset + ${offset}`;
}

/** All our targets are little-endian. */
function endian(type: string): string {
  return type.endsWith("8") ? "" : ", true";
}

/** The end of the DataView method for a type: `usize` → `BigUint64`. */
function accessor(type: string): string {
  const [, letter, size] = type.match(/^([uif])(\d+|size)$/)!;
  const bits = size === "size" ? "64" : size;
  if (letter === "f") return `Float${bits}`;
  return `${bits === "64" ? "Big" : ""}${letter === "u" ? "Uint" : "Int"}${bits}`;
}
