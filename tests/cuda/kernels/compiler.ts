import { messageOf } from "../../../src/core/errors.ts";
import { nvrtc } from "../../../src/cuda/library.ts";
import { cudaLibrary } from "../../cuda_libraries.ts";

/** Why there is no NVRTC; undefined where there is one: the setup's, or else the machine's own. */
export const compilerMissing: string | undefined = opened();

function opened(): string | undefined {
  const path = cudaLibrary("libnvrtc.so.13");
  if (path !== undefined && !Deno.env.has("SAMEPAGE_LIB_NVRTC")) Deno.env.set("SAMEPAGE_LIB_NVRTC", path);
  try {
    nvrtc();
    return undefined;
  } catch (error) {
    return `needs NVRTC: ${messageOf(error).split(";")[0]}`;
  }
}

/** A test that compiles for real, without a GPU: where there is no compiler it is ignored, and says so. */
export function compilerTest(name: string, fn: () => void | Promise<void>): void {
  const reason = compilerMissing;
  Deno.test({ name: `${name}${reason ? ` (not here: ${reason})` : ""}`, ignore: reason !== undefined, fn });
}
