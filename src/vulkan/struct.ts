import type { FieldLayout, StructLayout } from "../../ffi/layout.ts";
import * as constants from "../../ffi/vulkan/constants.ts";
import * as layouts from "../../ffi/vulkan/structs.ts";
import { filled, type Pointed, Struct, type StructNameIn, type Values as ValuesIn } from "../core/native/struct.ts";

export { Struct };

type Layouts = typeof layouts;

export type StructName = StructNameIn<Layouts>;

export type Values<L extends StructLayout> = ValuesIn<L, "sType">;

export function struct<N extends StructName>(name: N, values: Values<Layouts[N]> = {}): Struct {
  return structs(name, [values]);
}

export function structs<N extends StructName>(name: N, list: readonly Values<Layouts[N]>[]): Struct {
  return filled("vulkan", layouts[name], list, ["sType", structType(name)]);
}

/** The `sType` of a struct: VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR for `VkMemoryFdPropertiesKHR`. */
export function structType(name: string): number {
  const words = name.slice(2).replace(/(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Z\d])/g, "_");
  const known: Readonly<Record<string, unknown>> = constants;
  return known[`VK_STRUCTURE_TYPE_${words.toUpperCase().replace("WIN_3_2", "WIN32")}`] as number;
}

export function room(name: StructName, count: number): Struct {
  return new Struct("vulkan", layouts[name].size, count);
}

const POINTER: FieldLayout = { offset: 0, type: "u64" };

export function pointers(list: readonly Pointed[]): Struct {
  const made = new Struct("vulkan", 8, list.length);
  list.forEach((one, i) => made.put(POINTER, one, 8 * i));
  return made;
}

const NEXT: FieldLayout = { offset: 8, type: "u64" };

/** Links structs by their `pNext`, in this order; returns the first, which keeps the rest alive. */
export function chain(first: Struct, ...rest: readonly Struct[]): Struct {
  rest.reduce((before, next) => (before.put(NEXT, next), next), first);
  return first;
}
