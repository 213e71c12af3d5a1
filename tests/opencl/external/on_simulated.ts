/**
 * Tests on the simulated driver, which this brings in: it has to be imported before OpenCL is opened.
 *
 * @module
 */
import { alive, blocking, forgetPayloads, misuses, semaphoreFds, told } from "./simulated.ts"; // first: it taps the libraries
import { assertEquals } from "@std/assert";
import type { OpenCLContext } from "@samepage/interop/opencl";
import { openFds } from "../../gc.ts";
import { open, test } from "../help.ts";

/**
 * A test on the simulated driver. It leaves no fd open and nothing alive. It is ignored where there is a `reason`.
 *
 * @param warmUp has drivers open what they open once, and keep
 */
export function simulated(
  name: string,
  run: (cl: OpenCLContext) => unknown,
  reason?: string,
  warmUp: () => void = () => open("pocl")[Symbol.dispose](),
): void {
  test(name, ["pocl"], async () => {
    warmUp();
    const fds = openFds();
    forgetPayloads();
    misuses.length = blocking.length = semaphoreFds.length = 0;
    {
      await using cl = open("pocl");
      told.length = 0;
      await run(cl);
    }
    assertEquals([openFds(), alive(), misuses], [fds, 0, []], "open fds, what is alive, misuses");
  }, reason);
}
