import type { Cxx } from "../../library.ts";

/** What TypeScript calls a function: `cv::ocl::Context::ptr` → `Context_ptr`, `cv::ocl::finish` → `ocl_finish`. */
export function functionName(qualified: string, { namespace }: Cxx): string {
  return qualified.replace(`${namespace}::`, "").split("::").slice(-2).join("_");
}

/** What TypeScript calls a class: `cv::_InputArray` → `InputArray`. */
export function className(qualified: string): string {
  return qualified.split("::").at(-1)!.replace(/^_+/, "");
}

/** What goes before the name of a constant of a class or of an `enum class`: `UMatData` → `UMAT_DATA_`. */
export function classPrefix(name: string): string {
  return `${className(name).replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase()}_`;
}
