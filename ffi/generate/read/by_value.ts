import type { FieldType } from "../../layout.ts";
import { type ForeignType, refuse, scalarType } from "../types.ts";
import type { Declarations, Member } from "./ast.ts";
import { membersOf, structName } from "./structs.ts";

/** A C struct that crosses by value: what it holds, one number after the other. */
export function structType(type: string, declarations: Declarations): ForeignType {
  const holds = membersOf(type, declarations).flatMap((member) => numbers(type, member, declarations));
  return { native: "struct", type: "BufferSource", struct: { type, name: structName(type), holds } };
}

/**
 * The numbers in a member: one, an address, or those of an array. A plain `char` is a byte, because its sign is never
 * read here.
 */
function numbers(struct: string, { name, type, bitField }: Member, { enums }: Declarations): FieldType[] {
  const where = `${struct}.${name}`;
  if (bitField) throw new Error(`${where}: bit-fields are not supported`);
  if (type.resolved.endsWith("*")) return ["u64"];
  const [, element, length] = type.resolved.match(/^(.*\w) ?\[(\d+)\]$/) ?? [];
  const own = element === undefined ? type : { written: element, resolved: element };
  const native = own.resolved === "char" ? "u8" : (scalarType(own, enums) ?? refuse(where, type)).native;
  return Array<FieldType>(Number(length ?? 1)).fill(native as FieldType);
}

/** A C struct that crosses by value as its words. */
export function structOfWords(type: string, words: number): ForeignType {
  if (words <= 2) throw new Error(`${type}: a struct of two words may cross in registers: name it in byValue`);
  return {
    native: "struct",
    type: "BufferSource",
    struct: { type, name: structName(type), holds: Array(words).fill("u64") },
  };
}
