/**
 * The process that shares, in tests: `owner.ts TRANSPORTS BYTES DEVICES`. It prints its ticket, then what its tensor begins with for
 * each line that it reads; `end` has it end the share, and the end of its input ends it.
 *
 * @module
 */
import { host } from "../../mod.ts";
import { UcxContext } from "../../src/ucx/mod.ts";

const [transports, length, devices = "lo"] = Deno.args;
await using ucx = UcxContext.open({ transports: transports.split(","), devices: devices.split(",") });
await using tensor = host.allocate({ shape: [Number(length)], dtype: "u8" });
tensor.view().forEach((_, i, view) => view[i] = i * 7);
await using share = ucx.share([tensor], { access: "read-write" });
console.log(share.ticket.toBase64());
for await (const line of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  if (line.trim() === "end") await share[Symbol.asyncDispose]();
  console.log(tensor.view()[0]);
}
