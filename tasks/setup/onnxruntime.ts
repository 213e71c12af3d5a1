import { run } from "./backports.ts";
import { announce } from "./capture.ts";
import { packagesOf } from "./headers.ts";

/** A folder of this checkout that git does not see. */
const FOLDER = new URL("../../.inference/onnxruntime_include", import.meta.url).pathname;

const PACKAGE = {
  name: "libonnxruntime-dev",
  why: "the C header that ffi/onnxruntime* are generated from: version 1.21, to whose table later ones append",
};

/** Unpacks ONNX Runtime's C header, if it is not there, and returns why it could not. No wheel has it. */
export async function unpackOnnxRuntimeHeader(title: string): Promise<string | undefined> {
  if (await Deno.stat(`${FOLDER}/onnxruntime_c_api.h`).then(() => true, () => false)) return undefined;
  announce(`${title}, through apt, into ${FOLDER} (it is not installed)`, [PACKAGE]);
  const downloads = await Deno.makeTempDir({ prefix: "samepage-headers-" });
  try {
    const include = await packagesOf([PACKAGE.name], "trixie", downloads);
    await run(["cp", "-rT", include, FOLDER]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await Deno.remove(downloads, { recursive: true });
  }
}
