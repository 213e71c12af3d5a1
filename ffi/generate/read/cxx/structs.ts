import type { FieldLayout, FieldType } from "../../../layout.ts";
import type { Target } from "../../clang.ts";
import type { ClassEntry, Library } from "../../library.ts";
import type { Struct } from "../../model.ts";
import { ADDRESS, scalar } from "../../types.ts";
import { measure } from "../measure.ts";
import { className } from "./names.ts";
import { isSigned } from "./signed.ts";

/** Measures C++ classes: what each listed field is, the compiler is asked. */
export async function readClasses(library: Library, target: Target, entries: readonly ClassEntry[]): Promise<Struct[]> {
  const questions = entries.map((entry) => [
    `sizeof(${entry.type})`,
    `alignof(${entry.type})`,
    ...fieldsOf(entry).flatMap(([, designator]) => fieldQuestions(entry.type, designator)),
  ]);
  const answers = await measure(library, target, questions.flat().map((value) => ({ type: "size_t", value })));
  const facts = answers.map(({ value }) => Number(value));
  return entries.map((entry, i) => struct(entry, facts.splice(0, questions[i].length)));
}

/** A class, from the answers to its questions. */
function struct(entry: ClassEntry, [size, align, ...facts]: readonly number[]): Struct {
  const fields: Record<string, FieldLayout> = {};
  const members: Record<string, Struct["members"][string]> = {};
  for (const [name, designator] of fieldsOf(entry)) {
    const [offset, bytes, isScalar, isPointer, isFractional, hasSign] = facts.splice(0, FACTS);
    if (!isScalar) throw new Error(`${entry.type}.${designator} is neither a number nor a pointer`);
    const type = `${isFractional ? "f" : hasSign ? "i" : "u"}${bytes * 8}` as FieldType;
    fields[name] = { offset, type };
    members[name] = { designator, foreign: isPointer ? ADDRESS : scalar(type) };
  }
  return { type: entry.type, name: entry.as ?? className(entry.type), layout: { size, align, fields }, members };
}

function fieldsOf({ fields }: ClassEntry): readonly (readonly [name: string, designator: string])[] {
  return fields.map((field) => typeof field === "string" ? [field, field] : field);
}

/**
 * What is asked of a field: where it lies, its size, and whether it is a number or pointer, a pointer, fractional,
 * signed.
 */
const FACTS = 6;

/** Those questions as constant expressions. */
function fieldQuestions(type: string, designator: string): string[] {
  const value = `(((${type} *) nullptr)->${designator})`;
  const own = `std::remove_reference<decltype(${value})>::type`;
  return [
    `offsetof(${type}, ${designator})`,
    `sizeof(${value})`,
    `std::is_scalar<${own}>::value`,
    `std::is_pointer<${own}>::value`,
    `std::is_floating_point<${own}>::value`,
    isSigned(own),
  ];
}
