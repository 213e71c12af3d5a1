import type { StructLayout } from "../../layout.ts";
import type { Struct } from "../model.ts";
import { ADDRESS, foreignType } from "../types.ts";
import type { Declarations, Member } from "./ast.ts";

/** A C struct of which the compiler is asked: all of a library's at once, because each run of it reads every header. */
export interface AskedStruct {
  /** Constant expressions of type `size_t`. */
  readonly questions: readonly string[];
  /** Makes the struct of what they come to. */
  readonly answered: (answers: readonly number[]) => Struct;
}

/** Asks for all fields of a C struct. */
export function askStruct(type: string, declarations: Declarations): AskedStruct {
  const fields = membersOf(type, declarations);
  const foreign = fields.map((field) => {
    if (field.bitField) throw new Error(`${type}.${field.name}: bit-fields are not supported`);
    return foreignType(`${type}.${field.name}`, field.type, ADDRESS, declarations);
  });
  const questions = [
    `sizeof(${type})`,
    `_Alignof(${type})`,
    ...fields.map(({ name }) => `offsetof(${type}, ${name})`),
  ];
  const answered = ([size, align, ...offsets]: readonly number[]): Struct => {
    const layouts = fields.map(({ name }, i) => [name, { offset: offsets[i], type: foreign[i].native }] as const);
    return {
      type,
      name: structName(type),
      layout: { size, align, fields: Object.fromEntries(layouts) as StructLayout["fields"] },
      members: Object.fromEntries(fields.map(({ name }, i) => [name, { designator: name, foreign: foreign[i] }])),
    };
  };
  return { questions, answered };
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
