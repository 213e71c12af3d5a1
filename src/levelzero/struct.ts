import * as constants from "../../ffi/levelzero/constants.ts";
import * as layouts from "../../ffi/levelzero/structs.ts";
import { filled, type Struct, type StructNameIn, type Values } from "../core/native/struct.ts";

type Layouts = typeof layouts;

export type StructName = StructNameIn<Layouts>;

export function struct<N extends StructName>(name: N, values: Values<Layouts[N], "stype"> = {}): Struct {
  return structs(name, [values]);
}

export function structs<N extends StructName>(name: N, list: readonly Values<Layouts[N], "stype">[]): Struct {
  return filled("levelzero", layouts[name], list, TAGS.get(name)!);
}

const TYPES: Readonly<Record<string, unknown>> = constants;

/** The `stype` of each struct: ZE_STRUCTURE_TYPE_EVENT_DESC for `ze_event_desc_t`. */
const TAGS = new Map(
  Object.keys(layouts).map((name) => {
    const type = TYPES[`ZE_STRUCTURE_TYPE_${name.slice(3, -2).toUpperCase()}`] as number | undefined;
    return [name, ["stype", type ?? 0] as const];
  }),
);
