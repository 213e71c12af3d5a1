/**
 * The process that reads, in tests: `reader.ts TICKET DEVICE TIMEOUT`. For each line of its input it gets all bytes, and
 * prints `"right"`, `"wrong"`, or the code of the failure, after which it ends.
 *
 * @module
 */
import { host, type NativeCallError } from "../../mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";

const [ticket, device, timeout] = Deno.args;
const ucx = UcxContext.open({ transports: ["tcp"], devices: [device] });
const remote = ucx.connect(Uint8Array.fromBase64(ticket), { timeout: Number(timeout) });
const [there] = remote.tensors;
const here = host.allocate({ shape: there.shape, dtype: "u8" });
const input = Deno.stdin.readable.getReader();
while (!(await input.read()).done) {
  try {
    await there.get(here);
    console.log(here.view().every((value, i) => value === (i * 7 & 0xff)) ? "right" : "wrong");
  } catch (error) {
    console.log((error as NativeCallError).codeName);
    Deno.exit(0); // what a failed command used would throw the error again
  }
}
