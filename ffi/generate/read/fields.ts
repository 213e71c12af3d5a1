import type { FieldLayout, FieldType } from "../../layout.ts";
import type { ClassEntry } from "../library.ts";
import type { Struct } from "../model.ts";
import { ADDRESS, type ForeignType, handleType, pointee, scalar, SCALARS, unqualified } from "../types.ts";
import type { Declarations } from "./ast.ts";
import { type AskedStruct, structName } from "./structs.ts";

/** Asks for those fields of a C struct which the list names, and what each one is. */
export function askFields({ type, as, fields }: ClassEntry, declarations: Declarations): AskedStruct {
  const kinds = fieldKinds(declarations);
  const named = fields.map((field) => typeof field === "string" ? [field, field] as const : field);
  const questions = [
    `sizeof(${type})`,
    `_Alignof(${type})`,
    ...named.flatMap(([, designator]) => [`offsetof(${type}, ${designator})`, kindOf(type, designator, kinds)]),
  ];
  const answered = ([size, align, ...facts]: readonly number[]): Struct => {
    const layout: Record<string, FieldLayout> = {};
    const members: Record<string, Struct["members"][string]> = {};
    for (const [i, [name, designator]] of named.entries()) {
      const [offset, kind] = facts.slice(2 * i);
      const foreign = kind === 0 ? ADDRESS : kinds[kind - 1]?.foreign;
      if (foreign === undefined) throw new Error(`${type}.${designator} is neither a number nor a pointer`);
      layout[name] = { offset, type: foreign.native as FieldType };
      members[name] = { designator, foreign };
    }
    return { type, name: as ?? structName(type), layout: { size, align, fields: layout }, members };
  };
  return { questions, answered };
}

/** What a field may be, besides a pointer to something known. */
interface Kind {
  /** The C type. */
  readonly type: string;
  /** How it crosses. */
  readonly foreign: ForeignType;
}

/** The numbers and the handles. A plain `char` is a byte, whose sign is never read. */
function fieldKinds(declarations: Declarations): Kind[] {
  const opaque = [...declarations.typedefs.values()].map((type) => pointee(unqualified(type)))
    .filter((tag) => tag !== undefined).filter((tag) => !declarations.records.has(tag));
  return [
    { type: "char", foreign: scalar("u8") },
    ...Object.entries(SCALARS).filter(([type]) => type !== "bool")
      .map(([type, native]) => ({ type, foreign: scalar(native) })),
    ...[...new Set(opaque)].map((tag) => ({ type: `struct ${tag} *`, foreign: handleType(tag, declarations) })),
  ];
}

/**
 * A constant expression for a field's kind: its index, from 1; 0 for another pointer, and one too many for what
 * is neither. An array is not a pointer, though it becomes one wherever it is used.
 */
function kindOf(type: string, designator: string, kinds: readonly Kind[]): string {
  const field = `((${type} *) 0)->${designator}`;
  const rows = kinds.map((kind, i) => `${kind.type} *: ${i + 1}`);
  const same = `__builtin_types_compatible_p(__typeof__(${field}), __typeof__((0, ${field})))`;
  const other = `__builtin_classify_type(${field}) == __builtin_classify_type((void *) 0) && ${same}`;
  return `_Generic(&(${field}), ${rows.join(", ")}, default: ${other} ? 0 : ${kinds.length + 1})`;
}
