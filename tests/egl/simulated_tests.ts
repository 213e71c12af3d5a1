/** Tests of what is EGL's in OpenCL, over the simulated driver. */
import { driver } from "./simulated_opencl.ts";
import { ledger, MapperGraph } from "@samepage/interop";
import { EglContext } from "@samepage/interop/egl";
import { type OpenCLContext, openclDevices } from "@samepage/interop/opencl";
import { assertAlive } from "../alive.ts";
import { hasDevice } from "../opencl/present.ts";
import { missing } from "./help.ts";

/** The platform that stands for such a driver. */
export const POCL = "Portable Computing Language";

/** What a test is given. */
export interface There {
  readonly egl: EglContext;
  readonly cl: OpenCLContext;
  readonly graph: MapperGraph;
}

const reason = missing() ?? (hasDevice(POCL) ? undefined : "PoCL");

/** Declares tests of a driver that begins like that. They leave nothing alive. */
export function simulatedTests(
  title: string,
  begins: Pick<typeof driver, "lists" | "listsGl"> & Partial<Pick<typeof driver, "listsGlEvent" | "listsEglEvent">>,
  open: (egl: EglContext) => OpenCLContext,
): (name: string, run: (there: There) => unknown) => void {
  return (name, run) =>
    Deno.test({
      name: `egl: ${title}: ${name}${reason === undefined ? "" : ` (not here: ${reason})`}`,
      ignore: reason !== undefined,
      async fn() {
        const before = ledger.alive;
        const plain = { listsGlEvent: false, listsEglEvent: false, drawsElsewhere: false, fails: undefined, told: [] };
        Object.assign(driver, { ...plain, signal: [], ...begins });
        driver.device = openclDevices().find(({ platform }) => platform === POCL)!.handle;
        {
          using egl = EglContext.open();
          driver.uuid = egl.id.uuid!;
          using cl = open(egl);
          using graph = new MapperGraph([egl, cl]);
          await run({ egl, cl, graph });
          driver.fails = undefined;
        }
        await assertAlive(before, "what is alive");
      },
    });
}
