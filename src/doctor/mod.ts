/**
 * The doctor: what this machine can share with what, and why not more.
 *
 * @example The same from a shell
 * ```sh
 * deno run --allow-ffi jsr:@samepage/interop/doctor [--json] [--svg[=file]] [--no-proof]
 * ```
 *
 * @module
 */
import { main } from "./cli.ts";

export { doctor, type DoctorOptions } from "./doctor.ts";
export type * from "./report.ts";
export { svgOf } from "./show/svg.ts";
export { textOf } from "./show/text.ts";
export type { GuardState } from "../guard/guard.ts";
export type { Step, Transfer } from "../core/graph/route.ts";
export type { LibraryAttempt, Refusal } from "../core/errors.ts";

if (import.meta.main) Deno.exitCode = main(Deno.args);
