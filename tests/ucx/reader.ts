/**
 * The process that reads, in tests: `reader.ts TICKET DEVICE TIMEOUT`. For each line of its input it gets all bytes, and
 * prints `"right"` or `"wrong"`; for `put NUMBER` it has the other side's bytes be that number. It prints the code of a
 * failure, after which it ends.
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
for await (const line of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const [what, value] = line.trim().split(" ");
  try {
    if (what === "put") {
      here.view().fill(Number(value));
      await there.put(here);
      console.log("put");
    } else {
      await there.get(here);
      console.log(here.view().every((value, i) => value === (i * 7 & 0xff)) ? "right" : "wrong");
    }
  } catch (error) {
    console.log((error as NativeCallError).codeName);
    Deno.exit(0); // what a failed command used would throw the error again
  }
}
