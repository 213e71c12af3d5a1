import { OPENVINO } from "../../tasks/setup/wheels.ts";
import { OpenVINOContext } from "../../src/openvino/mod.ts";
import { ifThere } from "../inference/there.ts";

/** `"2641"` for version 2026.4.1. */
const SONAME = OPENVINO.wheels[0].version.replace(/^20|\./g, "");

/** OpenVINO, where `deno task setup` has unpacked it; undefined where it was not. */
export const LIBRARY = ifThere(`${OPENVINO.folder}/openvino/libs/libopenvino_c.so.${SONAME}`);

/** Opens it on the CPU. */
export function openOpenVINO(): OpenVINOContext {
  return OpenVINOContext.open({ library: LIBRARY! });
}
