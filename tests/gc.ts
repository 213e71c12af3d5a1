import v8 from "node:v8";
import vm from "node:vm";

v8.setFlagsFromString("--expose-gc"); // so that nobody has to pass it
const gc: () => void = vm.runInNewContext("gc");

/** Collects garbage, and lets finalizers run. */
export async function collect(): Promise<void> {
  for (let i = 0; i < 4; i++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
