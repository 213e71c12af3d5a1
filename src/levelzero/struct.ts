import * as constants from "../../ffi/levelzero/constants.ts";
import * as layouts from "../../ffi/levelzero/structs.ts";
import { filled, type Struct, type StructNameIn, type Values } from "../core/native/struct.ts";

type Layouts = typeof layouts;

export type StructName = StructNameIn<Layouts>;

export function struct<N extends StructName>(name: N, values: Values<Layouts[N], "stype"> = {}): Struct {
  return structs(name, [values]);
}

export function structs<N extends StructName>(name: N, list: readonly Values<Layouts[N], "stype">[]): Struct {
  let type = types.get(name);
  if (type === undefined) types.set(name, type = typeOf(name));
  return filled("levelzero", layouts[name], list, type);
}

type Type = readonly ["stype", number];

const types = new Map<StructName, Type>();

/** `ze_event_desc_t` has ZE_STRUCTURE_TYPE_EVENT_DESC. */
function typeOf(name: StructName): Type {
  const known: Readonly<Record<string, unknown>> = constants;
  const type = known[`ZE_STRUCTURE_TYPE_${name.slice(3, -2).toUpperCase()}`] as number | undefined;
  return ["stype", type ?? 0];
}
