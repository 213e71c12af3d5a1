import { SYMBOLS as CORE } from "../../../ffi/opencv_core/symbols.ts";
import { SYMBOLS as IMGCODECS } from "../../../ffi/opencv_imgcodecs/symbols.ts";
import { SYMBOLS as IMGPROC } from "../../../ffi/opencv_imgproc/symbols.ts";
import { guardOf } from "../../guard/guard.ts";
import { core, imgcodecs, imgproc } from "../../opencv/library.ts";
import { examineLibrary } from "../library.ts";
import type { Finding, ModuleReport, Trait } from "../report.ts";

/** Each module, with one of its functions. */
const MODULES = [
  { name: "core", open: core, symbol: CORE.getVersionMajor.name },
  { name: "imgproc", open: imgproc, symbol: IMGPROC.cvtColor.name },
  { name: "imgcodecs", open: imgcodecs, symbol: IMGCODECS.imread.name },
] as const;

/** Opens every module, the core first; a missing one is a finding. */
export function examineModules(findings: Finding[]): ModuleReport[] {
  return MODULES.map(({ name, open, symbol }) => {
    const api = `opencv_${name}`;
    const library = examineLibrary(api, open, symbol, findings);
    const guard = guardOf(api);
    return { name, ...library, ...(guard === undefined ? {} : { guard }) };
  });
}

/** Whether the open modules' C++ exceptions are caught. */
export function guardTrait(modules: readonly ModuleReport[]): Trait {
  const open = modules.flatMap(({ name, guard }) => guard === undefined ? [] : [{ name, guard }]);
  const names = (guarded: boolean) => open.filter(({ guard }) => guard.guarded === guarded).map(({ name }) => name);
  const [safe, unsafe] = [names(true).join(", "), names(false).join(", ")];
  const reasons = new Set(open.flatMap(({ guard }) => guard.guarded ? [] : [guard.reason]));
  const parts = [
    ...(safe === "" ? [] : [`of ${safe} are caught: each is a typed error`]),
    ...(unsafe === "" ? [] : [`of ${unsafe} are not caught: each ends the process. ${[...reasons].join(" ")}`]),
  ];
  return { label: "exceptions", text: parts.join("; ") };
}
