import { ledger } from "@samepage/interop";
import { OPENVINO } from "../../tasks/setup/wheels.ts";
import { OpenVINOContext } from "../../src/openvino/mod.ts";
import { assertAlive } from "../alive.ts";

/** OpenVINO, where `deno task setup` has unpacked it; undefined where it was not. */
export const LIBRARY = libraryIn(`${OPENVINO.folder}/openvino/libs`);

/** Opens it on the CPU. */
export function openOpenVINO(): OpenVINOContext {
  return OpenVINOContext.open({ library: LIBRARY! });
}

/** A test after which no native object is left. It is skipped, and says so, where there is no OpenVINO. */
export function test(name: string, fn: () => unknown): void {
  const ignore = LIBRARY === undefined;
  Deno.test({
    name: `openvino: ${name}${ignore ? " (skipped: deno task setup inference)" : ""}`,
    ignore,
    async fn() {
      const before = ledger.alive;
      await fn();
      await assertAlive(before, "what the test has left");
    },
  });
}

function libraryIn(folder: string): string | undefined {
  try {
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    const name = names.find((name) => /^libopenvino_c\.so\.\d+$/.test(name));
    return name === undefined ? undefined : `${folder}/${name}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
