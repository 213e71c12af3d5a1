import type { StructLayout } from "../../layout.ts";
import type { Target } from "../clang.ts";
import type { Library } from "../library.ts";
import type { Struct } from "../model.ts";
import { ADDRESS, foreignType } from "../types.ts";
import type { Declarations, Member } from "./ast.ts";
import { measure } from "./measure.ts";

/** Measures a C struct: all of its fields. */
export async function readStruct(
  library: Library,
  target: Target,
  type: string,
  declarations: Declarations,
): Promise<Struct> {
  const fields = membersOf(type, declarations);
  const foreign = fields.map((field) => {
    if (field.bitField) throw new Error(`${type}.${field.name}: bit-fields are not supported`);
    return foreignType(`${type}.${field.name}`, field.type, ADDRESS, declarations);
  });
  const [size, align, ...offsets] = await measure(library, target, [
    { type: "size_t", value: `sizeof(${type})` },
    { type: "size_t", value: `_Alignof(${type})` },
    ...fields.map((field) => ({ type: "size_t", value: `offsetof(${type}, ${field.name})` })),
  ]);
  const layouts = fields.map((field, i) => (
    [field.name, { offset: Number(offsets[i].value), type: foreign[i].native }] as const
  ));
  return {
    type,
    name: structName(type),
    layout: {
      size: Number(size.value),
      align: Number(align.value),
      fields: Object.fromEntries(layouts) as StructLayout["fields"],
    },
    members: Object.fromEntries(
      fields.map((field, i) => [field.name, { designator: field.name, foreign: foreign[i] }]),
    ),
  };
}

/** What TypeScript calls a C struct: `struct iovec` → `iovec`. */
export function structName(type: string): string {
  return type.replace(/^struct /, "");
}

/** What the headers say that a C struct holds. */
export function membersOf(type: string, declarations: Declarations): readonly Member[] {
  const name = structName(type);
  const tag = structName(declarations.typedefs.get(name)?.resolved ?? name);
  const members = declarations.records.get(tag) ?? declarations.records.get(name);
  if (members === undefined) throw new Error(`no header declares the fields of ${type}`);
  return members;
}
